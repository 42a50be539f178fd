"""`harness hint`, `status`, `replay`: the candidate's loop beside `check`."""

from __future__ import annotations

import re
import textwrap
import time
from pathlib import Path

import click

from harness import journal
from harness.commands.common import problem_of
from harness.render.terminal import WIDTH
from harness.render.wrapped import wrapped
from harness.suite.printable import printable

HINT = re.compile(r"^## \d+.*\n", re.MULTILINE)


def slug_or_last(slug: str | None) -> str:
    """The problem named, or the last one of this folder."""
    known = slug or journal.read(Path()).last
    if not known:
        raise click.UsageError("no problem named\n  harness list shows them; name one")
    return known


@click.command("hint", short_help="One hint more.")
@click.argument("slug", required=False)
@click.pass_context
def hint_command(ctx: click.Context, slug: str | None) -> None:
    """One hint more each time: from a nudge to nearly the remedy. Noted, never charged."""
    problem = problem_of(ctx, slug_or_last(slug))
    text = problem.hints.read_text(encoding="utf-8") if problem.hints.is_file() else ""
    hints = [part.strip() for part in HINT.split(text)[1:]]
    given = journal.read(Path()).attempt(problem.slug).hints
    if not hints:
        click.echo(f"{problem.slug} has no hints.")
    elif given >= len(hints):
        click.echo(
            f"All {len(hints)} hints were given. The last one:\n\n{wrapped(hints[-1])}", nl=False
        )
    else:
        click.echo(f"Hint {given + 1} of {len(hints)}\n\n{wrapped(hints[given])}", nl=False)
        journal.update(Path(), problem.slug, hints=given + 1)
    click.echo(f"\nNext: harness check {problem.slug}")


@click.command("status", short_help="Time used, checks run, what has held since when.")
@click.argument("slug", required=False)
@click.pass_context
def status_command(ctx: click.Context, slug: str | None) -> None:
    """Time used, checks run, hints taken, and what has held since when."""
    problem = problem_of(ctx, slug_or_last(slug))
    attempt = journal.read(Path()).attempt(problem.slug)
    if attempt.started:
        used = (time.time() - attempt.started) / 60
        click.echo(f"  time    {used:.0f} of {problem.minutes} min")
    click.echo(f"  checks  {len(attempt.checks)} run")
    click.echo(f"  hints   {attempt.hints} taken")
    if attempt.checks:
        last = attempt.checks[-1]
        click.echo(f"  last    {len(last.held)} held, {len(last.broke)} broke\n")
        for check, since in held_since(attempt).items():
            when = time.strftime("%H:%M", time.localtime(since))
            click.echo(printable(f"  held since {when}  {check}"))
        for check in last.broke:
            click.echo(printable(f"  broke             {check}"))
    click.echo(f"\nNext: harness check {problem.slug}")


def held_since(attempt: journal.Attempt) -> dict[str, float]:
    """For every check that held last time, since when it has held without a break."""
    since: dict[str, float] = {}
    for checked in attempt.checks:
        for broken in checked.broke:
            since.pop(broken, None)
        for held in checked.held:
            since.setdefault(held, checked.at)
    return since


@click.command("replay", short_help="Write a finding's smallest case as a Python file.")
@click.argument("check")
@click.argument("slug", required=False)
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Where to write it.")
@click.pass_context
def replay_command(ctx: click.Context, check: str, slug: str | None, out: str | None) -> None:
    """Write the smallest case of CHECK, from the last run, as a file that runs alone.

    It imports the candidate's file, makes the calls, and exits 1 while they go as they did.

    \b
    Example:
      harness replay the-copy-needs-a-free-block && python replay_paged_allocator.py
    """
    from harness.render.standalone import standalone
    from harness.suite.claims import identify

    problem = problem_of(ctx, slug_or_last(slug))
    attempt = journal.read(Path()).attempt(problem.slug)
    cases = {case.check: case for case in attempt.cases}
    wanted = identify(check)
    if wanted not in cases:
        broken = printable(", ".join(cases)) or "nothing"
        raise click.UsageError(
            f"{wanted} did not break in the last check of {problem.slug}\n  {broken} did"
        )
    target = Path(out or f"replay_{problem.slug}.py")
    try:
        target.write_text(standalone(cases[wanted], problem.slug, attempt.file), encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{target} cannot be written: {error.strerror}") from None
    click.echo(
        textwrap.fill(f"{target} is ready. Wanted: {printable(cases[wanted].wanted)}", WIDTH)
    )
    click.echo(f"Next: python {target}")
