"""`harness compare`: two results of one problem side by side."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands.common import USAGE
from harness.whole_files import write_whole

if TYPE_CHECKING:
    from harness.batch.store import Stored
    from harness.render.comparison import Comparison


@click.command("compare", short_help="Two results side by side.")
@click.argument("a", type=click.Path(dir_okay=False))
@click.argument("b", type=click.Path(dir_okay=False))
@click.option("--all", "every", is_flag=True, help="Every finding in full, not the heaviest alone.")
@click.option("--format", "form", type=click.Choice(["text", "html"]), default="text",
              show_default=True, help="html is one page with every finding.")  # fmt: skip
@click.option("--out", metavar="FILE", type=click.Path(),
              help="Of the page; beside B when left out; - for output.")  # fmt: skip
@click.pass_context
def compare_command(
    ctx: click.Context, a: str, b: str, every: bool, form: str, out: str | None
) -> None:
    """Lay two results of one problem side by side: two candidates, or one before and after.

    A and B are what `harness check --json` wrote, or lie in the folder of a round.

    \b
    Examples:
      harness compare monday.json tuesday.json
      harness compare round/results/ada__rope.json round/results/bob__rope.json
      harness compare monday.json tuesday.json --format html
    """
    from harness.commands.reading import read_result
    from harness.render.comparison import OtherProblem, compared

    if out and form == "text":
        raise click.UsageError("--out is for --format html; text goes to the terminal")
    left, right = read_result(a), read_result(b)
    try:
        comparison = compared(left.result, right.result)
    except OtherProblem as error:
        raise click.UsageError(f"{error}\n  name two results of one problem") from None
    if form == "html":
        page = _page(comparison, (left, right), (a, b))
        _write(ctx, page, out or str(Path(b).with_name(f"{Path(a).stem}-and-{Path(b).stem}.html")))
        return
    _show(comparison, (left, right), (a, b), every=every)


def _show(
    comparison: Comparison, both: tuple[Stored, Stored], files: tuple[str, str], *, every: bool
) -> None:
    from harness.render.plain import logged
    from harness.render.side_by_side import side_by_side

    a, b = (f"{_name(stored)}   {file}" for stored, file in zip(both, files, strict=True))
    for line in side_by_side(comparison, (a, b), every=every):
        click.echo(line)
    more = len(comparison.findings) > 1 and not every
    words = ["compare", *files, "--all"] if more else ["report", files[1]]
    click.echo(logged(f"Next: {shlex.join(['harness', *words])}"))


def _page(comparison: Comparison, both: tuple[Stored, Stored], files: tuple[str, str]) -> bytes:
    from harness.render.comparison_page import comparison_page

    names = (_name(both[0]), _name(both[1]))
    return comparison_page(comparison, names, (Path(files[0]).name, Path(files[1]).name)).encode()


def _write(ctx: click.Context, page: bytes, out: str) -> None:
    if out == "-":
        sys.stdout.buffer.write(page)
        return
    try:
        write_whole(Path(out), page)
    except OSError as error:
        click.echo(f"{out} cannot be written: {error.strerror}", err=True)
        click.echo("  name another place with --out", err=True)
        ctx.exit(USAGE)
    click.echo(f"{out} is ready.")


def _name(stored: Stored) -> str:
    return stored.candidate or stored.result.submission.path
