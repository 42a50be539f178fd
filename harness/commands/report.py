"""`harness report`: a result, for people and for the machines that read such things."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands.common import COULD_NOT_GRADE, USAGE
from harness.whole_files import write_whole

if TYPE_CHECKING:
    from harness.results import Result

ENDINGS = {
    "html": ".html",
    "markdown": ".md",
    "junit": ".junit.xml",
    "gradescope": ".gradescope.json",
    "csv": ".csv",
    "json": ".json",
}


@click.command("report", short_help="A scorecard from a result.")
@click.argument("result", type=click.Path())
@click.option(
    "--format", "form", type=click.Choice(list(ENDINGS)), default="html", show_default=True
)
@click.option(
    "--for",
    "audience",
    type=click.Choice(["panel", "candidate"]),
    default="panel",
    show_default=True,
    help="A candidate sees claims and scripts; a panel also seeds, facts and questions.",
)
@click.option(
    "--out", metavar="FILE", type=click.Path(), help="Beside RESULT when left out; - for output."
)
@click.option("--blind", is_flag=True, help="Of a round: numbers instead of names.")
@click.pass_context
def report_command(
    ctx: click.Context, result: str, form: str, audience: str, out: str | None, blind: bool
) -> None:
    """Write a scorecard from RESULT, which `harness check --json RESULT` wrote, or the pages of
    the round in the folder RESULT, which `harness grade --out RESULT` filled.

    JUnit, Gradescope and CSV hold what a candidate may see, whoever asks. JSON is of a round.

    \b
    Examples:
      harness report result.json
      harness report result.json --for candidate --format markdown --out -
      harness report results
      harness report results --blind
      harness report results --format csv --out -
    """
    if Path(result).is_dir():
        from harness.commands.report_round import report_round

        report_round(ctx, Path(result), form, audience=audience, out=out, blind=blind)
        return
    if blind or form == "json":
        what = "--blind" if blind else "--format json"
        raise click.UsageError(f"{what} is for the folder of a round, and {result} is none")
    from harness.commands.reading import read_result

    document = _rendered(read_result(result).result, form, audience, ctx)
    if out == "-":
        sys.stdout.buffer.write(document)
        return
    target = Path(out) if out else Path(result).with_suffix(ENDINGS[form])
    if target.resolve() == Path(result).resolve():
        raise click.UsageError(f"{target} is the result itself\n  name another file with --out")
    try:
        write_whole(target, document)
    except OSError as error:
        click.echo(f"{target} cannot be written: {error.strerror}", err=True)
        click.echo("  name another place with --out", err=True)
        ctx.exit(USAGE)
    click.echo(f"{target} is ready.")


def _rendered(result: Result, form: str, audience: str, ctx: click.Context) -> bytes:
    from harness.render.report import Audience

    reader = Audience(audience)
    if form == "html":
        from harness.render.html import html

        return html(result, reader).encode()
    if form == "markdown":
        from harness.render.markdown import markdown

        return markdown(result, reader).encode()
    if form == "junit":
        from harness.render.junit import junit

        return junit([result])
    if form == "csv":
        from harness.render.table import table

        return table(result).encode()
    from harness.render.gradescope import NoScore, gradescope

    try:
        return gradescope(result)
    except NoScore as error:
        click.echo(f"no score was written: {error}", err=True)
        click.echo("  without a level any number would be a mark nobody gave", err=True)
        ctx.exit(COULD_NOT_GRADE)
