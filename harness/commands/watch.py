"""`harness watch`: check again at every save, what failed last time first."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import journal
from harness.commands.common import ALL_HELD, problem_of, sandbox_named, wants_colour
from harness.commands.loop import slug_or_last
from harness.render import terminal
from harness.results import BROKE, HELD, Check, Result
from harness.stopped import is_a_stop

if TYPE_CHECKING:
    from harness.judge.ahead import Ahead
    from harness.problems import Problem
    from harness.remote.session import Session
    from harness.sandbox.base import Sandbox

LOOK_MS = 200  # between looks for a save


@click.command("watch", short_help="Check again at every save.")
@click.argument("slug", required=False)
@click.argument("file", required=False, type=click.Path())
@click.pass_context
def watch_command(ctx: click.Context, slug: str | None, file: str | None) -> None:
    """Check FILE at every save: what failed last time first, and what changed.

    Runs in a local worker that stays warm. Ctrl-C ends it.
    """
    from watchfiles import watch

    from harness.judge.round import open_session

    problem = problem_of(ctx, slug_or_last(slug))
    path = Path(file or journal.read(Path()).attempt(problem.slug).file).resolve()
    if not path.is_file():
        raise click.UsageError(f"no {path.name} here\n  harness start {problem.slug} makes one")
    sandbox = sandbox_named("local")
    session = open_session(problem, b"", str(path), sandbox)
    broken: list[str] = []
    try:
        saves = watch(
            path.parent,
            watch_filter=lambda _, name: name == str(path),
            yield_on_timeout=True,
            rust_timeout=LOOK_MS,
        )
        next(saves)  # it looks from now on: a save during the first check is not missed
        broken = _once(problem, session, sandbox, path, broken)
        ahead = _drawn_ahead(problem)  # while the candidate reads and types
        for saved in saves:
            if saved:
                broken = _once(problem, session, sandbox, path, broken, ahead.again())
    except BaseException as error:
        if not is_a_stop(error):
            raise
        click.echo("\nno longer watching; harness status shows how it stands")
    finally:
        session.close()
    ctx.exit(ALL_HELD)


def _drawn_ahead(problem: Problem) -> Ahead:
    from harness.judge.ahead import draw_ahead
    from harness.judge.round import Options

    return draw_ahead(problem, Options())


def _once(
    problem: Problem,
    session: Session,
    sandbox: Sandbox,
    path: Path,
    broken: list[str],
    ahead: Ahead | None = None,
) -> list[str]:
    """One check; the ids that broke. Prints what changed as soon as it is known."""
    from harness.batch.room import cores
    from harness.judge.round import Options, grade_and_keep
    from harness.remote.session import Submission
    from harness.submissions import BadSubmission, read_submission

    try:
        source = read_submission(path)
    except BadSubmission as error:
        click.echo(str(error))
        return broken
    session.take(Submission(problem.slug, source, str(path)))
    colour = wants_colour(True)
    click.echo(f"\n{time.strftime('%H:%M:%S')}  {path.name}")

    def tell(check: Check) -> None:
        if check.status == BROKE or check.id in broken:
            click.echo(terminal.check_line(check, colour=colour))

    options = Options(first=tuple(broken), ahead=ahead, draws_beside=cores() > 1)
    result = grade_and_keep(problem, session, options, backend=sandbox, tell=tell)
    journal.note_result(Path(), problem.slug, str(path), result, time.time())
    _say_changes(result, broken, colour)
    return [check.id for check in result.checks if check.status == BROKE]


def _say_changes(result: Result, broken: list[str], colour: bool) -> None:
    mended = [c.id for c in result.checks if c.status == HELD and c.id in broken]
    if mended:
        click.echo(f"  holds now: {', '.join(mended)}")
    found = terminal.findings(result, every=False, colour=colour)
    if found:
        click.echo("\n" + found)
    click.echo(terminal.summary(result, next_command="save the file again; Ctrl-C ends"))
