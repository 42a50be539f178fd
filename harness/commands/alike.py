"""`harness alike`: which submissions of a round a person should look at side by side."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands.common import USAGE, pack_of

if TYPE_CHECKING:
    from harness.problems import Problem

EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@click.command("alike", short_help="Submissions of a round that are alike.")
@click.argument("results", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--blind", is_flag=True, help="Numbers instead of names.")
@click.pass_context
def alike_command(ctx: click.Context, results: Path, blind: bool) -> None:
    """Compare the submissions of the round in RESULTS, which `harness grade --out RESULTS` filled.

    Names of variables make no difference, the stub's lines and the statement's examples do not
    count. The pairs are a question for a person: no level, page or exit code depends on them.

    \b
    Examples:
      harness alike results
      harness alike results --blind
    """
    # copydetect imports matplotlib, which it does not use here, and which talks of its fonts.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        from harness.batch.alike import alike
        from harness.render.alike_page import alike_lines, alike_page
    except ImportError as error:
        raise click.UsageError(f"{error}\n  pip install 'harness[alike]'") from None
    from harness.batch.blind import BadKey
    from harness.batch.store import Store
    from harness.commands.shown import ALIKE, FILES, round_shown
    from harness.problems import all_problems
    from harness.whole_files import write_whole

    try:
        shown = round_shown(Store(results), blind=blind)
    except BadKey as error:
        raise click.UsageError(str(error)) from None
    if not shown.graded:
        raise click.UsageError(f"{results} holds no results of a round\n  harness grade makes them")
    some = [one for one in shown.graded if one.result.submission.source]
    found = alike(some, {p.slug: handed_out(p) for p in all_problems(pack_of(ctx))})
    for line in alike_lines(found):
        click.echo(line)
    page = shown.folder / ALIKE
    index = FILES["html"] if (shown.folder / FILES["html"]).is_file() else ""
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        write_whole(page, alike_page(found, index=index).encode())
    except OSError as error:
        click.echo(f"{page} cannot be written: {error.strerror}", err=True)
        ctx.exit(USAGE)
    click.echo(f"{page} is ready.")


def handed_out(problem: Problem) -> list[str]:
    """What every candidate had: the stub, and the examples of the statement."""
    stub, statement = (
        path.read_text(encoding="utf-8") if path.is_file() else ""
        for path in (problem.stub, problem.statement)
    )
    return [stub, *EXAMPLE.findall(statement)]
