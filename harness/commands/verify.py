"""`harness verify`: is this suite good? For authors, and for CI."""

from __future__ import annotations

import importlib
import os
import sys
import time
from typing import TYPE_CHECKING

import click

from harness.commands.common import ALL_HELD, SOMETHING_BROKE, pack_of, problem_of
from harness.problems import BadPack, Problem, all_problems

if TYPE_CHECKING:
    from harness.authoring.verify import Seeds


@click.command("verify", short_help="Prove a suite good (for authors).")
@click.argument("slug", required=False)
@click.option(
    "--long",
    "is_long",
    is_flag=True,
    help="Reference on 100 seeds, other right answers on 30, wrong ones on 10.",
)
@click.option(
    "--levels",
    "is_levels",
    is_flag=True,
    help="Only the verdicts on wrong answers: is one mistake charged as one? Three seeds.",
)
@click.option("--workers", type=click.IntRange(1), default=os.cpu_count() or 1, show_default=True)
@click.pass_context
def verify_command(
    ctx: click.Context, slug: str | None, is_long: bool, is_levels: bool, workers: int
) -> None:
    """Run every right and wrong answer of SLUG (all problems when left out).

    The reference and the other right answers must hold every check, the stub must break, and each
    wrong answer must be caught by the check it names. The long form also runs whole rounds on the
    wrong answers and holds that one mistake is not charged as several.

    \b
    Examples:
      harness verify paged_allocator
      harness verify --long
    """
    from harness.authoring.verify import LEVELS, LONG, SHORT

    try:
        chosen = [problem_of(ctx, slug)] if slug else all_problems(pack_of(ctx))
        complaints = sum(
            _verify(problem, LEVELS if is_levels else LONG if is_long else SHORT, workers)
            for problem in chosen
        )
    except BadPack as error:
        raise click.UsageError(str(error)) from None
    click.echo(f"{len(chosen)} verified, {complaints} complaints.")
    click.echo(
        "Next: " + ("harness list" if not complaints else f"mend the suite of {slug or 'them'}")
    )
    ctx.exit(SOMETHING_BROKE if complaints else ALL_HELD)


def _verify(problem: Problem, seeds: Seeds, workers: int) -> int:
    from harness.authoring.structure import structure
    from harness.authoring.verify import jobs, run_all

    started = time.monotonic()
    for name in ("pytest", "hypothesis", *(n for n in problem.needs if n == "torch")):
        importlib.import_module(name)  # once, before forking
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)  # a fork after a threaded operation would hang
    click.echo(f"{problem.slug}")
    complaints = structure(problem)
    for found in complaints:
        click.echo(f"  {found.what}: {found.words}")
    if complaints:
        return len(complaints)
    todo = jobs(problem, seeds)
    for number, (_, complaint) in enumerate(run_all(todo, workers), start=1):
        if complaint is not None:
            complaints.append(complaint)
            click.echo(f"  {complaint.what}: {complaint.words}")
        if number % 25 == 0:
            click.echo(f"  {problem.slug}: {number} of {len(todo)} runs", err=True)
    names = {job.name for job in todo}
    click.echo(f"  {len(names)} answers, {len(todo)} runs, {time.monotonic() - started:.0f} s")
    return len(complaints)
