"""Running a round: judges forked from a warm parent, as many at a time as the machine has room."""

from __future__ import annotations

import hashlib
import importlib
import multiprocessing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness import __version__
from harness.batch.entries import Entry
from harness.batch.store import Round, Store, Stored
from harness.judge.budget import BUDGETS
from harness.judge.round import Options, grade, open_session
from harness.problems import Problem
from harness.results import NOT_ASSESSED, Result
from harness.sandbox.base import Sandbox
from harness.worker.processes import die_with_parent

TRIES = 2  # a failure of ours is tried once more, recorded, never a mark against anybody


@dataclass(frozen=True, slots=True)
class Job:
    """One submission to grade in one round."""

    entry: Entry
    problem: Problem
    round: Round
    sandbox: Sandbox
    folder: Path


def key_of(entry: Entry, problem: Problem, settings: Round, image: str) -> str:
    """What a result depends on, as one digest: a change of any part grades it again."""
    parts = [
        hashlib.sha256(entry.source).hexdigest(),
        hashlib.sha256(problem.suite.read_bytes()).hexdigest(),
        harness_digest(),
        image,
        str(settings.seed), settings.budget, settings.backend, settings.device,
    ]  # fmt: skip
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def harness_digest() -> str:
    """The harness itself, by its source."""
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256(__version__.encode())
    for path in sorted(root.rglob("*.py")):
        if "pack" not in path.relative_to(root).parts:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def warm(problems: list[Problem]) -> None:
    """Import once what every forked judge needs; nothing is computed."""
    names = {"pytest", "hypothesis", "harness.judge.judge"}
    for name in names | {need for p in problems for need in p.needs if need == "torch"}:
        importlib.import_module(name)


def run_all(jobs: list[Job], at_once: int) -> Iterator[Stored]:
    """Grade every job, each in a judge of its own; results come as they finish, already stored."""
    context = multiprocessing.get_context("fork")
    with context.Pool(at_once, die_with_parent, maxtasksperchild=1) as pool:
        yield from pool.imap_unordered(run, jobs)


def run(job: Job) -> Stored:
    """Grade one submission and store the result whole."""
    for _ in range(TRIES):
        result = _graded(job)
        if not result.could_not_grade:
            break
    key = key_of(job.entry, job.problem, job.round, image_of(job.sandbox))
    stored = Stored(key, job.entry.candidate, job.entry.origin, result)
    if not result.could_not_grade:
        Store(job.folder).put(stored)
    return stored


def _graded(job: Job) -> Result:
    session = open_session(
        job.problem, job.entry.source, job.entry.origin, job.sandbox, job.round.device
    )
    options = Options(job.round.seed, BUDGETS[job.round.budget], device=job.round.device)
    return grade(job.problem, session, options, backend=job.sandbox)


def image_of(sandbox: Sandbox) -> str:
    """What the worker's code is, where it is an image."""
    return str(getattr(sandbox, "image", ""))


def is_complete(result: Result) -> bool:
    """Whether everything that this device can assess was."""
    return not any(
        check.status == NOT_ASSESSED and not check.reason.startswith("needs a ")
        for check in result.checks
    )
