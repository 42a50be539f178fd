"""`harness grade`: a folder of take-homes, one comparable result each, nothing lost."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands.common import ALL_HELD, COULD_NOT_GRADE, USAGE, pack_of, sandbox_named
from harness.problems import all_problems

if TYPE_CHECKING:
    from harness.batch.entries import Entry, Puzzle
    from harness.batch.outstanding import Outstanding
    from harness.batch.run import Job
    from harness.batch.store import Round, Store, Stored
    from harness.problems import Problem
    from harness.sandbox.base import Sandbox

RAY_ADDRESS = "ray://"


@click.command("grade", short_help="Grade a folder of submissions.")
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path),
              metavar="RESULTS", help="Where results are kept; run again to go on.")  # fmt: skip
@click.option("--backend", type=click.Choice(["docker", "local"]), default="docker",
              show_default=True, help="local is no protection from strangers' code.")  # fmt: skip
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option("--budget", type=click.Choice(["quick", "full"]), default="quick", show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Instead of a secret one.")
@click.option(
    "--jobs", type=click.IntRange(1), help="How many at a time; else one a core, by memory."
)
@click.option("--executor", default="local", show_default=True, metavar="local|ray[://HOST:PORT]",
              help="Where it runs: this machine, or a Ray cluster.")  # fmt: skip
@click.option("--branches", multiple=True, metavar="PATTERN",
              help="FOLDER is a git repository: a branch a candidate, by name.")  # fmt: skip
@click.option("--blind", is_flag=True, help="Numbers instead of names in all that is shown.")
@click.option("--dry-run", is_flag=True, help="Show what was found; run nothing.")
@click.pass_context
def grade_command(
    ctx: click.Context,
    folder: Path,
    out: Path,
    backend: str,
    device: str,
    budget: str,
    seed: int | None,
    jobs: int | None,
    executor: str,
    branches: tuple[str, ...],
    blind: bool,
    dry_run: bool,
) -> None:
    """Grade every submission in FOLDER: a folder, archives, flat files, a CSV, or
    branches of a git repository, which are read and not checked out.

    \b
    Examples:
      harness grade take-homes --out results --dry-run
      harness grade take-homes --out results
      harness grade repository --branches "take-home/*" --out results
    """
    from harness.batch.store import BusyFolder, NoPlace, OtherRound, Store
    from harness.commands.report_round import say_round

    if executor not in ("local", "ray") and not executor.startswith(RAY_ADDRESS):
        raise click.UsageError(f"no executor called {executor!r}\n  local, ray or ray://HOST:PORT")
    problems = {problem.slug: problem for problem in all_problems(pack_of(ctx))}
    entries, puzzles = _found(folder, branches, frozenset(problems))
    _say_found(entries, puzzles, blind=blind and not dry_run)
    if dry_run or not entries:
        ctx.exit(ALL_HELD if entries else USAGE)
    store = Store(out)
    try:
        with store.locked():
            settings = store.round(budget, backend, device, seed)
            todo = _todo(store, entries, problems, settings, sandbox_named(backend))
            left = [job for _, job in todo]
            running = _running(executor, left, jobs, device) if left else iter(())
            with _noted(store.folder, entries, todo) as outstanding:
                failed = _run(outstanding, len(entries), len(left), running)
    except (BusyFolder, NoPlace, OtherRound) as error:
        raise click.UsageError(f"{error}\n  name another folder with --out") from None
    index = say_round(store, failed, [(entry.candidate, entry.slug) for entry in entries], blind)
    click.echo(f"{len(entries) - len(failed)} of {len(entries)} graded. Seed {settings.seed}.")
    remedy = failed[0].result.remedy if failed else ""
    click.echo(f"Next: {remedy or index}")
    ctx.exit(COULD_NOT_GRADE if failed else ALL_HELD)


def _found(
    place: Path, branches: tuple[str, ...], slugs: frozenset[str]
) -> tuple[list[Entry], list[Puzzle]]:
    from harness.batch.entries import find_entries
    from harness.branch.handed_in import NoBranches, in_branches
    from harness.suite.printable import printable

    if branches:
        try:
            return in_branches(place, branches, slugs)
        except NoBranches as error:
            raise click.UsageError(str(error)) from None
    if place.is_file() and place.suffix != ".csv":
        raise click.UsageError(
            f"{printable(str(place))} is a file\n"
            "  name the folder of submissions it is in, or a CSV of them"
        )
    return find_entries(place, slugs)


def _say_found(entries: list[Entry], puzzles: list[Puzzle], *, blind: bool) -> None:
    from harness.render.plain import logged

    people = len({entry.candidate for entry in entries})
    counts = Counter(entry.slug for entry in entries)
    click.echo(f"{len(entries)} submissions of {people} candidates")
    for slug, count in sorted(counts.items()):
        click.echo(f"  {count:5} {slug}")
    if puzzles:
        click.echo(f"{len(puzzles)} not understood{', named by --dry-run' if blind else ''}")
    if not blind:
        for puzzle in puzzles:
            click.echo(logged(f"  {puzzle.origin}: {puzzle.why}"))


def _todo(
    store: Store, entries: list[Entry], problems: dict[str, Problem], settings: Round, box: Sandbox
) -> list[tuple[str, Job]]:
    """The submissions whose result for exactly these inputs is not there yet, and its key."""
    from harness.batch.run import Job, key_of

    jobs = []
    for entry in entries:
        problem = problems[entry.slug]
        key = key_of(entry, problem, settings, box.image)
        if not store.has(entry.candidate, entry.slug, key):
            jobs.append((key, Job(entry, problem, settings, box, store.folder)))
    return jobs


def _running(executor: str, todo: list[Job], jobs: int | None, device: str) -> Iterator[Stored]:
    """The results as they finish: nothing runs before the first is asked for."""
    from harness.batch.judges import run_all
    from harness.batch.room import at_once
    from harness.batch.run import draw_all_ahead
    from harness.judge.round import spec_for

    if executor != "local":
        return _on_cluster(todo, jobs, executor if executor.startswith(RAY_ADDRESS) else "")
    jobs = jobs or at_once([spec_for(job.problem, device) for job in todo], device)
    return run_all(todo, jobs, ahead=draw_all_ahead(todo))


def _on_cluster(todo: list[Job], jobs: int | None, address: str) -> Iterator[Stored]:
    from harness.batch.cluster import run_all_there
    from harness.batch.driver import NoCluster

    try:
        yield from run_all_there(todo, jobs, address=address)
    except NoCluster as error:
        raise click.UsageError(str(error)) from None


@contextmanager
def _noted(
    folder: Path, entries: list[Entry], todo: list[tuple[str, Job]]
) -> Iterator[Outstanding]:
    """Keep a note of what has no result, however the run ends; results are kept without it too."""
    from harness.batch.outstanding import Outstanding

    outstanding = Outstanding(folder, [(one.candidate, one.slug) for one in entries], todo)
    _note(outstanding)
    try:
        yield outstanding
    finally:
        _note(outstanding)


def _note(outstanding: Outstanding) -> None:
    try:
        outstanding.note()
    except OSError as error:
        click.echo(f"what is not graded cannot be noted: {error.strerror}", err=True)


def _run(
    outstanding: Outstanding, total: int, left: int, running: Iterator[Stored]
) -> list[Stored]:
    """Have everything graded; what could not be."""
    from harness.render.progress import with_progress

    failed = []
    for stored in with_progress(running, total, total - left, sys.stderr):
        outstanding.hear(stored)
        if stored.result.could_not_grade:
            failed.append(stored)
    return failed
