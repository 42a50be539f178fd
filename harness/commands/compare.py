"""`harness compare`: two results of one problem side by side."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from harness.batch.store import Stored


@click.command("compare", short_help="Two results side by side.")
@click.argument("a", type=click.Path(dir_okay=False))
@click.argument("b", type=click.Path(dir_okay=False))
@click.option("--all", "every", is_flag=True, help="Every finding in full, not the heaviest alone.")
def compare_command(a: str, b: str, every: bool) -> None:
    """Lay two results of one problem side by side: two candidates, or one before and after.

    A and B are what `harness check --json` wrote, or lie in the folder of a round.

    \b
    Examples:
      harness compare monday.json tuesday.json
      harness compare round/results/ada__rope.json round/results/bob__rope.json
    """
    from harness.commands.reading import read_result
    from harness.render.side_by_side import OtherProblem, compared, side_by_side
    from harness.suite.printable import printable

    left, right = read_result(a), read_result(b)
    try:
        comparison = compared(left.result, right.result)
    except OtherProblem as error:
        raise click.UsageError(f"{error}\n  name two results of one problem") from None
    names = (_name(left, a), _name(right, b))
    for line in side_by_side(comparison, names, every=every):
        click.echo(line)
    more = len(comparison.findings) > 1 and not every
    words = ["compare", a, b, "--all"] if more else ["report", b]
    click.echo(f"Next: {printable(shlex.join(['harness', *words]))}")


def _name(stored: Stored, file: str) -> str:
    return f"{stored.candidate or stored.result.submission.path}   {file}"
