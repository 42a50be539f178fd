"""`harness verify`: is this suite good? For authors, and for CI."""

from __future__ import annotations

import importlib
import os
import sys
import time

import click

from harness.commands.common import ALL_HELD, SOMETHING_BROKE, pack_of, problem_of
from harness.problems import BadPack, Problem, all_problems


@click.command("verify", short_help="Prove a suite good (for authors).")
@click.argument("slug", required=False)
@click.option(
    "--long",
    "is_long",
    is_flag=True,
    help="Reference on 100 seeds, other right answers on 30, wrong ones on 10.",
)
@click.option("--workers", type=click.IntRange(1), default=os.cpu_count() or 1, show_default=True)
@click.pass_context
def verify_command(ctx: click.Context, slug: str | None, is_long: bool, workers: int) -> None:
    """Run every right and wrong answer of SLUG (all problems when left out).

    The reference and the other right answers must hold every check, the stub must break, and each
    wrong answer must be caught by the check it names.

    \b
    Examples:
      harness verify paged_allocator
      harness verify --long
    """
    try:
        chosen = [problem_of(ctx, slug)] if slug else all_problems(pack_of(ctx))
        complaints = sum(_verify(problem, is_long, workers) for problem in chosen)
    except BadPack as error:
        raise click.UsageError(str(error)) from None
    click.echo(f"{len(chosen)} verified, {complaints} complaints.")
    click.echo(
        "Next: " + ("harness list" if not complaints else f"mend the suite of {slug or 'them'}")
    )
    ctx.exit(SOMETHING_BROKE if complaints else ALL_HELD)


def _verify(problem: Problem, is_long: bool, workers: int) -> int:
    from harness.authoring.verify import LONG, SHORT, jobs, run_all, structure

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
    todo = jobs(problem, LONG if is_long else SHORT)
    for number, (_, complaint) in enumerate(run_all(todo, workers), start=1):
        if complaint is not None:
            complaints.append(complaint)
            click.echo(f"  {complaint.what}: {complaint.words}")
        if number % 25 == 0:
            click.echo(f"  {problem.slug}: {number} of {len(todo)} runs", err=True)
    names = {job.name for job in todo}
    click.echo(f"  {len(names)} answers, {len(todo)} runs, {time.monotonic() - started:.0f} s")
    return len(complaints)
