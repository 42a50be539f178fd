"""`harness check`: grade one file, print what held and what broke, exit by it."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import journal
from harness.commands.common import (
    ALL_HELD,
    COULD_NOT_GRADE,
    SOMETHING_BROKE,
    USAGE,
    problem_of,
    sandbox_named,
    wants_colour,
)
from harness.commands.loop import slug_or_last
from harness.problems import Problem
from harness.render import terminal
from harness.render.checks import heaviest_first
from harness.results import BROKE, HELD, NOT_ASSESSED, Check, Result
from harness.suite.printable import printable
from harness.whole_files import write_whole

if TYPE_CHECKING:
    from harness.judge.round import Options
    from harness.sandbox.base import Sandbox


@click.command("check", short_help="Grade a file the way a panel would.")
@click.argument("slug", required=False)
@click.argument("file", required=False, type=click.Path(readable=False))
@click.option(
    "--backend",
    type=click.Choice(["auto", "local", "docker"]),
    default="auto",
    show_default=True,
    help="Where the file runs.",
)
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    help="Where tensors are.",
)
@click.option("--gpu", is_flag=True, help="Ask Docker for a GPU; implies --device cuda.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Other examples than usual.")
@click.option("--budget", type=click.Choice(["quick", "full"]), default="quick", show_default=True)
@click.option("--only", multiple=True, metavar="ID", help="Only this check; may be repeated.")
@click.option(
    "--tests",
    "tests_path",
    type=click.Path(readable=False),
    metavar="TESTS.PY",
    help="Your own pytest tests: how many wrong answers they catch. Advice; no part of the level.",
)
@click.option("--all", "every", is_flag=True, help="Every finding in full, not the heaviest alone.")
@click.option("--brief", is_flag=True, help="Only what broke, one line each, and the verdict.")
@click.option(
    "--json",
    "json_path",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the whole result; - for standard output.",
)
@click.pass_context
def check_command(
    ctx: click.Context,
    slug: str | None,
    file: str | None,
    backend: str,
    device: str,
    gpu: bool,
    seed: int | None,
    budget: str,
    only: tuple[str, ...],
    tests_path: str | None,
    every: bool,
    brief: bool,
    json_path: str | None,
) -> None:
    """Grade FILE (SLUG.py in this folder when left out) against a problem.

    Without SLUG it is the problem that was checked or started last in this folder.

    The tests of --tests import what they test by the problem's name, as in
    `from rope import apply_rope`. They run in the sandbox against right answers and wrong ones
    (20 of them; all with --budget full), and the report says what they see.

    \b
    Examples:
      harness check paged_allocator
      harness check paged_allocator answer.py --tests test_answer.py
      harness check paged_allocator answer.py --only append-keeps-the-blocks-before
      harness check rope answer.py --backend docker --json result.json
    """
    problem = problem_of(ctx, slug_or_last(slug))
    path = Path(file or journal.read(Path()).attempt(problem.slug).file)
    device = "cuda" if gpu else device
    out = sys.stderr if json_path == "-" else sys.stdout
    colour = wants_colour(out.isatty())

    def say(text: str) -> None:
        click.echo(text, file=out)

    source = _source(path, problem, named=file is not None)
    tests = _source(Path(tests_path), problem, named=True) if tests_path else b""
    say(terminal.header(problem.slug, problem.title, problem.minutes) + "\n")
    out.flush()
    options = _options(seed, budget, only, device)

    def tell(check: Check) -> None:
        if not (brief and check.status == HELD):
            say(terminal.check_line(check, colour=colour))

    sandbox = sandbox_named(backend, gpu=gpu)
    result = _grade(problem, source, str(path), sandbox, options, tell)
    if tests_path and not result.could_not_grade:
        result = _with_tests(problem, result, sandbox, options, (tests_path, tests, source))
    if not brief:
        say("")
        found = terminal.findings(result, every=every, colour=colour)
        if found:
            say(found)
        say(terminal.footer(result))
    if result.own_tests is not None:
        say(terminal.own_tests(result.own_tests))
    say(terminal.summary(result, next_command=_next(problem, result, file, json_path)))
    if file is None:
        journal.note_result(Path(), problem.slug, str(path), result, time.time())
        result = journal.with_sitting(Path(), result, time.time())
    if json_path:
        _write(json_path, result)
    ctx.exit(exit_code(result))


def _source(path: Path, problem: Problem, *, named: bool) -> bytes:
    from harness.submissions import BadSubmission, read_submission

    try:
        return read_submission(path)
    except BadSubmission as error:
        if not named and not path.exists():
            raise click.UsageError(
                f"no {printable(str(path))} in this folder\n"
                f"  harness start {problem.slug} puts the stub here"
            ) from None
        raise click.UsageError(str(error)) from None


def _options(seed: int | None, budget: str, only: tuple[str, ...], device: str) -> Options:
    from harness.batch.room import cores
    from harness.judge.budget import BUDGETS
    from harness.judge.round import PRACTICE_SEED, Options
    from harness.suite.claims import identify

    return Options(
        seed=PRACTICE_SEED if seed is None else seed,
        budget=BUDGETS[budget],
        only=frozenset(identify(name) for name in only),
        device=device,
        draws_beside=cores() > 1,
    )


def _grade(
    problem: Problem,
    source: bytes,
    path: str,
    sandbox: Sandbox,
    options: Options,
    tell: Callable[[Check], None],
) -> Result:
    from harness.judge.round import NoSuchCheck, grade, open_session

    session = open_session(problem, source, path, sandbox, options.device)
    try:
        return grade(problem, session, options, backend=sandbox, tell=tell)
    except NoSuchCheck as error:
        from difflib import get_close_matches

        close = get_close_matches(error.wanted[0], error.known, n=1, cutoff=0.3)
        hint = f"there is one with a close name: {close[0]}" if close else "leave --only out"
        raise click.UsageError(f"{error}\n  {hint}") from None


def _with_tests(
    problem: Problem,
    result: Result,
    sandbox: Sandbox,
    options: Options,
    files: tuple[str, bytes, bytes],
) -> Result:
    """The result with what the candidate's own tests see; progress on standard error."""
    import msgspec

    from harness.own_tests.judged import Given, judge_tests

    on_line = sys.stderr.isatty()

    def tell(words: str) -> None:
        if on_line:
            click.echo(f"\r\x1b[K{words}", err=True, nl=False)

    found = judge_tests(
        problem,
        Given(*files),
        sandbox,
        seed=options.seed,
        whole=options.budget.name == "full",
        run_s=options.budget.run_s,
        device=options.device,
        tell=tell,
    )
    tell("")
    return msgspec.structs.replace(result, own_tests=found)


def exit_code(result: Result) -> int:
    """0 all held, 1 something broke, 3 could not grade."""
    if any(check.status == BROKE for check in result.checks):
        return SOMETHING_BROKE
    missing = [c for c in result.checks if c.status == NOT_ASSESSED]
    if result.could_not_grade or not result.checks or len(missing) == len(result.checks):
        return COULD_NOT_GRADE
    expected = all(check.reason.startswith("needs a ") for check in missing)
    return ALL_HELD if expected else COULD_NOT_GRADE


def _next(problem: Problem, result: Result, file: str | None, json_path: str | None) -> str:
    if json_path and json_path != "-":
        return f"harness report {printable(shlex.quote(json_path))}"
    broken = heaviest_first(result)
    if broken:
        heaviest = broken[0]
        return f"harness explain {problem.slug} {heaviest.id}"
    if result.run.budget == "quick" and exit_code(result) == ALL_HELD:
        target = f" {printable(shlex.quote(file))}" if file else ""
        return f"harness check {problem.slug}{target} --budget full"
    return f"harness show {problem.slug}"


def _write(json_path: str, result: Result) -> None:
    """Write the document whole or not at all."""
    from harness.results import to_json

    document = to_json(result)
    if json_path == "-":
        sys.stdout.buffer.write(document)
        return
    try:
        write_whole(Path(json_path), document)
    except OSError as error:
        click.echo(
            f"the result could not be written to {json_path}: {error.strerror}\n"
            "  the verdict above stands; name another place with --json",
            err=True,
        )
        sys.exit(USAGE)
