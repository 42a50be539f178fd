"""Proving a suite good: right answers hold, wrong ones are caught by the check that names them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial

from harness.authoring.claims import claims_of
from harness.authoring.structure import Complaint
from harness.authoring.wrong import read_wrong
from harness.judge.budget import QUICK, Budget
from harness.judge.round import Options, grade_and_keep, open_session
from harness.problems import Problem
from harness.remote.session import Session, Submission
from harness.results import BROKE, HELD, Result
from harness.sandbox.local import LocalSandbox
from harness.worker.processes import die_with_parent

# What one mistake deserves, by the kind of the check that names it. A check that breaks because
# another thing went wrong before it makes the verdict harder than the mistake.
HIRE, NO_HIRE, STRONG_NO_HIRE = "Hire", "No hire", "Strong no hire"
DESERVED = {
    "invariant": frozenset({NO_HIRE, STRONG_NO_HIRE}),
    "behaviour": frozenset({NO_HIRE, STRONG_NO_HIRE}),
    "edge": frozenset({HIRE}),
    "cost": frozenset({HIRE}),
}
BATCH = 100  # runs, after which the processes that do them start anew


@dataclass(frozen=True, slots=True)
class Seeds:
    """How many seeds each kind of answer is run on."""

    reference: int
    right: int
    wrong: int
    levels: int  # a wrong answer's whole round: is one mistake charged as one?


SHORT = Seeds(reference=1, right=1, wrong=1, levels=0)
LONG = Seeds(reference=100, right=30, wrong=10, levels=1)
LEVELS = Seeds(reference=0, right=0, wrong=0, levels=3)


@dataclass(frozen=True, slots=True)
class Job:
    """One answer to run on one seed. `must_break` names the check that has to catch it.

    None: all checks must hold. "": all must break, as they must for a stub; a check that holds for
    an answer that does nothing would hold for anything. `levels`: the whole round is run, and the
    verdict must be one of them.
    """

    problem: Problem
    name: str
    source: bytes
    seed: int
    must_break: str | None
    levels: frozenset[str] = frozenset()


def jobs(problem: Problem, seeds: Seeds) -> list[Job]:
    """Every answer of a problem on every seed it has to be run on."""
    reference = problem.reference.read_bytes()
    text = reference.decode()
    plan = [(seeds.reference, partial(Job, problem, "the reference", reference))]
    plan += [
        (seeds.right, partial(Job, problem, f"right/{path.name}", path.read_bytes()))
        for path in problem.right
    ]
    todo = [job(seed, None) for count, job in plan for seed in range(count)]
    kinds = {claim.id: claim.kind.value for claim in claims_of(problem)}
    for wrong in read_wrong(problem):
        job = partial(Job, problem, wrong.name, wrong.source(text).encode())
        allowed = wrong.levels or DESERVED[kinds[wrong.caught_by]]
        todo += [job(seed, wrong.caught_by) for seed in range(seeds.wrong)]
        todo += [job(seed, wrong.caught_by, allowed) for seed in range(seeds.levels)]
    if seeds.wrong:
        todo.append(Job(problem, "the stub", problem.stub.read_bytes(), 0, ""))
    return todo


def run_all(todo: list[Job], workers: int) -> Iterator[tuple[Job, Complaint | None]]:
    """Run jobs in processes forked from this one, which should have imported what they need."""
    context = multiprocessing.get_context("fork")
    for batch in (todo[i : i + BATCH] for i in range(0, len(todo), BATCH)):
        # Processes that the pool replaces by itself are forked from a thread of its own, and
        # die with that thread, holding the pool's lock: so a new pool replaces them.
        with context.Pool(workers, die_with_parent) as pool:
            yield from pool.imap_unordered(run, batch)
            pool.close()
            pool.join()  # ended by themselves: one that is killed may hold the pool's lock


def run(job: Job) -> tuple[Job, Complaint | None]:
    """Run one answer; what is wrong with the suite, if anything."""
    must_break = job.must_break
    only = frozenset({must_break} if must_break and not job.levels else ())
    shrinks = must_break is None
    budget = Budget("verify", QUICK.examples, QUICK.run_s * 5, QUICK.shrink_s, shrink=shrinks)
    session = _session(job.problem)
    session.take(Submission(job.problem.slug, job.source, job.name))
    result = grade_and_keep(
        job.problem, session, Options(job.seed, budget, only), backend=LocalSandbox()
    )
    words = _complaint(job, result)
    return job, Complaint(job.name, f"seed {job.seed}: {words}") if words else None


def _complaint(job: Job, result: Result) -> str:
    if job.must_break is None:
        for check in result.checks:
            if check.status != HELD and not check.reason.startswith("needs a "):
                finding = check.finding
                shown = (
                    f": {finding.script} wanted {finding.wanted}, got {finding.got}"
                    if finding
                    else ""
                )
                return f"{check.id} {check.status} {check.reason}{shown}"
        return "" if result.checks else f"nothing ran: {result.could_not_grade}"
    if job.must_break == "":
        held = [check.id for check in result.checks if check.status == HELD]
        return f"it does nothing and yet holds {', '.join(held)}" if held else ""
    named = [check for check in result.checks if check.id == job.must_break]
    if named and named[0].reason.startswith("needs a "):
        return ""  # a machine with that device proves it
    if not named or named[0].status != BROKE:
        return f"not caught by {job.must_break} {result.could_not_grade}".strip()
    if job.levels and result.level not in job.levels:
        broken = [check.id for check in result.checks if check.status == BROKE]
        allowed = " or ".join(sorted(job.levels))
        return f"{result.level}, not {allowed}: it breaks {', '.join(broken)}"
    return ""


@cache
def _session(problem: Problem) -> Session:
    """One warm worker a process: all answers are the author's own."""
    return open_session(problem, b"", problem.slug, LocalSandbox())
