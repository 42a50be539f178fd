"""Running a round: judges forked from a warm parent, as many at a time as the machine has room."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import multiprocessing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess as Judging
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from harness import __version__
from harness.batch.entries import Entry
from harness.batch.store import Round, Store, Stored
from harness.judge.budget import BUDGETS
from harness.judge.round import Options, grade, not_graded, open_session
from harness.problems import Problem
from harness.remote.faults import OurFault
from harness.remote.session import Submission
from harness.results import Result
from harness.sandbox.base import Sandbox
from harness.worker.processes import die_with_parent

if TYPE_CHECKING:
    from harness.judge.ahead import Ahead

STOP_LIMIT_S = 10.0
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


def run_all(
    jobs: list[Job], at_once: int, *, ahead: Mapping[str, Ahead] | None = None
) -> Iterator[Stored]:
    """Grade every job, each in a judge of its own; results come as they finish, already stored.

    A judge that is killed takes no other job with it: its own is tried once more.
    """
    waiting = [(job, TRIES) for job in reversed(jobs)]
    running: dict[Connection, tuple[Judging, Job, int]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                job, tries = waiting.pop()
                heard, process = _start(job, (ahead or {}).get(job.problem.slug))
                running[heard] = process, job, tries - 1
            for ready in connection.wait(list(running)):
                heard = next(one for one in running if one is ready)
                process, job, tries = running.pop(heard)
                stored = _said(heard)
                process.join()
                if stored is not None:
                    yield stored
                elif tries:
                    waiting.append((job, tries))
                else:
                    yield _lost(job, process.exitcode)
    finally:
        _stop([process for process, _, _ in running.values()])


def _start(job: Job, ahead: Ahead | None) -> tuple[Connection, Judging]:
    context = multiprocessing.get_context("fork")
    heard, says = context.Pipe(duplex=False)
    process = context.Process(target=_judge, args=(job, ahead, says), daemon=False)
    process.start()
    says.close()
    return heard, process


def _judge(job: Job, ahead: Ahead | None, says: Connection) -> None:
    """The whole life of one judge."""
    die_with_parent()
    with contextlib.suppress(KeyboardInterrupt):  # whoever was stopped says so
        says.send_bytes(msgspec.msgpack.encode(run(job, ahead)))


def _said(heard: Connection) -> Stored | None:
    """What a judge sent; None when it ended without a word."""
    with heard:
        try:
            return msgspec.msgpack.decode(heard.recv_bytes(), type=Stored)
        except EOFError:
            return None


def _lost(job: Job, exit_code: int | None) -> Stored:
    return given_up(job, f"the judge was ended ({exit_code}), {TRIES} times", "harness doctor")


def given_up(job: Job, reason: str, remedy: str) -> Stored:
    """A submission that was not graded, by a fault of ours."""
    fault = OurFault(reason, remedy)
    submission = Submission(job.problem.slug, job.entry.source, job.entry.origin)
    result = not_graded(job.problem, submission, _options(job), job.sandbox, fault)
    return Stored("", job.entry.candidate, job.entry.origin, result)


def _stop(left: list[Judging]) -> None:
    """End judges so that they end their sandboxes, and those that do not."""
    for process in left:
        process.terminate()
    for process in left:
        process.join(STOP_LIMIT_S)
        process.kill()


def run(job: Job, ahead: Ahead | None = None) -> Stored:
    """Grade one submission and store the result whole, where there is a place for it."""
    for _ in range(TRIES):
        result = _graded(job, ahead)
        if not result.could_not_grade:
            break
    key = key_of(job.entry, job.problem, job.round, job.sandbox.image)
    return kept(job, Stored(key, job.entry.candidate, job.entry.origin, result))


def kept(job: Job, stored: Stored) -> Stored:
    """What was stored, where there is a place for it; a result that is lost is not graded."""
    if job.folder is None or stored.result.could_not_grade:
        return stored
    try:
        Store(job.folder).put(stored)
    except OSError as error:
        return given_up(job, f"the result cannot be kept: {error.strerror}", "df -h")
    return stored


def _graded(job: Job, ahead: Ahead | None) -> Result:
    session = open_session(
        job.problem, job.entry.source, job.entry.origin, job.sandbox, job.round.device
    )
    return grade(job.problem, session, _options(job, ahead), backend=job.sandbox)


def _options(job: Job, ahead: Ahead | None = None) -> Options:
    budget = BUDGETS[job.round.budget]
    return Options(job.round.seed, budget, device=job.round.device, ahead=ahead)
