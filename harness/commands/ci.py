"""`harness ci`: grade what a branch answers, and tell the CI server in its own ways."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

import harness
from harness.commands.ci_init import LEVELS, init_command
from harness.commands.common import (
    ALL_HELD,
    COULD_NOT_GRADE,
    SOMETHING_BROKE,
    pack_of,
    sandbox_named,
)
from harness.problems import BadPack, all_problems

if TYPE_CHECKING:
    from harness.branch.answers import Found
    from harness.judge.round import Options
    from harness.results import Result
    from harness.sandbox.base import Sandbox


@click.group("ci", short_help="Grade what a branch answers.", invoke_without_command=True)
@click.option("--base", metavar="REF", help="What the branch is compared with.")
@click.option(
    "--fail-below",
    type=click.Choice(LEVELS),
    default="hire",
    show_default=True,
    help="Exit 1 when an answer's level is lower.",
)
@click.option(
    "--backend",
    type=click.Choice(["docker", "local"]),
    default="docker",
    show_default=True,
    help="local is no protection from strangers' code.",
)
@click.option("--budget", type=click.Choice(["quick", "full"]), default="quick", show_default=True)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    envvar="HARNESS_SEED",
    help="A round's own examples; kept out of the summary.",
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("harness-results"),
    show_default=True,
    help="Where the results, JUnit and the summary go.",
)
@click.pass_context
def ci_command(
    ctx: click.Context,
    base: str | None,
    fail_below: str,
    backend: str,
    budget: str,
    seed: int | None,
    out: Path,
) -> None:
    """Grade the answers of the branch checked out in this folder.

    solutions.toml names them; without it they are the files changed since the branch left its
    base that are called SLUG.py or SLUG/solution.py. The suites are the installed ones.

    \b
    Exits 0 when no level is below --fail-below (or nothing was answered), 1 when one is, 2 for
    usage, 3 when something could not be graded.
    \b
    Examples:
      harness ci --base origin/main
      harness ci --fail-below strong-hire --backend local
      harness ci init
    """
    if ctx.invoked_subcommand is not None:
        return
    top = _top()
    found = _found(_pack(ctx, top), top, base)
    _check_place(out)
    results = list(_graded(top, found, sandbox_named(backend), _options(budget, seed)))
    _write(out, results, found)
    token = secrets.token_hex(16) if os.environ.get("GITHUB_ACTIONS") == "true" else ""
    for line in _log(results, found, token):
        click.echo(line)
    click.echo(f"Next: {out / 'summary.md'}")
    ctx.exit(_exit_code(results, fail_below))


def _top() -> Path:
    """The top of the repository, or this folder where its answers are listed."""
    from harness.branch.answers import LIST
    from harness.branch.changes import CannotCompare, top_of

    try:
        return top_of(Path.cwd())
    except CannotCompare as error:
        if Path(LIST).is_file():
            return Path.cwd()
        raise click.UsageError(str(error)) from None


def _pack(ctx: click.Context, top: Path) -> Path:
    """The installed pack. A branch that brings its own suites would grade itself."""
    pack = pack_of(ctx)
    for what, place in (("the pack", pack), ("the harness", Path(harness.__file__))):
        if place.resolve().is_relative_to(top.resolve()):
            raise click.UsageError(
                f"{what} is a part of this branch: {place}\n"
                "  install the harness from elsewhere, so that the branch cannot change its suites"
            )
    return pack


def _found(pack: Path, top: Path, base: str | None) -> Found:
    from harness.branch.answers import LIST, BadList, among, listed
    from harness.branch.changes import CannotCompare, changes

    try:
        problems = all_problems(pack)
        if base is None and (top / LIST).is_file():
            return listed(top / LIST, problems)
        return among(changes(top, base, os.environ), problems)
    except (CannotCompare, BadList, BadPack) as error:
        raise click.UsageError(str(error)) from None


def _options(budget: str, seed: int | None) -> Options:
    from harness.judge.budget import BUDGETS
    from harness.judge.round import PRACTICE_SEED, Options

    return Options(PRACTICE_SEED if seed is None else seed, BUDGETS[budget])


def _graded(top: Path, found: Found, sandbox: Sandbox, options: Options) -> Iterator[Result]:
    from harness.judge.round import grade, open_session
    from harness.render.plain import logged
    from harness.submissions import BadSubmission, read_submission

    try:
        sources = [read_submission(top / answer.path) for answer in found.answers]
    except BadSubmission as error:
        raise click.UsageError(str(error)) from None
    for answer, source in zip(found.answers, sources, strict=True):
        click.echo(logged(f"grading {answer.path}"), err=True)
        session = open_session(answer.problem, source, answer.path, sandbox)
        yield grade(answer.problem, session, options, backend=sandbox)


def _check_place(out: Path) -> None:
    """Results lie beside nothing that the branch brought: it would be taken for ours."""
    from harness.branch.changes import brings

    if out.is_symlink():
        raise click.UsageError(f"{out} is a link\n  name a folder with --out")
    if brings(out):
        raise click.UsageError(
            f"{out} is a part of this branch, which could bring results of its own\n"
            "  name another folder with --out"
        )


def _write(out: Path, results: list[Result], found: Found) -> None:
    from harness.commands.ci_files import write_files

    try:
        write_files(out, results, found.passed_over)
    except OSError as error:
        raise click.UsageError(
            f"the results cannot be written to {out}: {error.strerror}\n  name a folder with --out"
        ) from None


def _log(results: list[Result], found: Found, token: str) -> Iterator[str]:
    from harness.render.run_log import run_log

    return run_log(results, found.passed_over, token=token)


def _exit_code(results: list[Result], fail_below: str) -> int:
    levels = [result.level.lower().replace(" ", "-") for result in results]
    graded = [LEVELS.index(level) for level in levels if level in LEVELS]
    if any(level < LEVELS.index(fail_below) for level in graded):
        return SOMETHING_BROKE
    return ALL_HELD if len(graded) == len(levels) else COULD_NOT_GRADE


ci_command.add_command(init_command)
