"""One submission of a round: what its result depends on, grading it, keeping what was found."""

from __future__ import annotations

import hashlib
import importlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from harness import __version__
from harness.batch.entries import Entry
from harness.batch.store import Round, Store, Stored
from harness.judge.budget import BUDGETS
from harness.judge.round import Options, grade, not_graded, open_session
from harness.problems import Problem
from harness.remote.faults import OurFault
from harness.remote.session import Session, Submission
from harness.results import Result
from harness.sandbox.base import Sandbox

if TYPE_CHECKING:
    from harness.judge.ahead import Ahead

TRIES = 2  # a failure of ours is tried once more, recorded, never a mark against anybody


@dataclass(frozen=True, slots=True)
class Job:
    """One submission to grade in one round."""

    entry: Entry
    problem: Problem
    round: Round
    sandbox: Sandbox
    folder: Path | None  # where its result is kept; None: by whoever asked


def key_of(entry: Entry, problem: Problem, settings: Round, image: str) -> str:
    """What a result depends on, as one digest: a change of any part grades it again."""
    parts = [
        hashlib.sha256(entry.source).hexdigest(),
        problem.suite_sha256(),
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


def draw_all_ahead(jobs: list[Job]) -> dict[str, Ahead]:
    """The examples of each problem's suite, drawn once for every judge forked from here."""
    warm([job.problem for job in jobs])
    from harness.judge.ahead import draw_ahead

    first = {job.problem.slug: job for job in jobs}
    return {slug: draw_ahead(job.problem, _options(job)) for slug, job in first.items()}


def given_up(job: Job, reason: str, remedy: str) -> Stored:
    """A submission that was not graded, by a fault of ours."""
    fault = OurFault(reason, remedy)
    submission = Submission(job.problem.slug, job.entry.source, job.entry.origin)
    result = not_graded(job.problem, submission, _options(job), job.sandbox, fault)
    return Stored("", job.entry.candidate, job.entry.origin, result)


def run(job: Job, ahead: Ahead | None = None, started: Session | None = None) -> Stored:
    """Grade one submission, on a session that may be started already; keep the result."""
    for _ in range(TRIES):
        result = _graded(job, ahead, started or begin(job))
        started = None
        if not result.could_not_grade:
            break
    key = key_of(job.entry, job.problem, job.round, job.sandbox.image)
    return kept(job, Stored(key, job.entry.candidate, job.entry.origin, result))


def begin(job: Job) -> Session:
    """A session whose sandbox is starting; nothing waits for it yet."""
    return open_session(
        job.problem, job.entry.source, job.entry.origin, job.sandbox, job.round.device
    )


def kept(job: Job, stored: Stored) -> Stored:
    """What was stored, where there is a place for it; a result that is lost is not graded."""
    if job.folder is None or stored.result.could_not_grade:
        return stored
    try:
        Store(job.folder).put(stored)
    except OSError as error:
        return given_up(job, f"the result cannot be kept: {error.strerror}", "df -h")
    return stored


def _graded(job: Job, ahead: Ahead | None, session: Session) -> Result:
    return grade(job.problem, session, _options(job, ahead), backend=job.sandbox)


def _options(job: Job, ahead: Ahead | None = None) -> Options:
    budget = BUDGETS[job.round.budget]
    return Options(job.round.seed, budget, device=job.round.device, ahead=ahead)
