"""Proving a suite good: right answers hold, wrong ones are caught by the check that names them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from harness.authoring.claims import claims_of
from harness.authoring.wrong import Wrong, read_wrong
from harness.judge.budget import QUICK, Budget
from harness.judge.round import Options, grade_and_keep, open_session
from harness.problems import BadPack, Problem
from harness.remote.session import Session, Submission
from harness.results import BROKE, HELD, Result
from harness.sandbox.local import LocalSandbox
from harness.suite.claims import Claim
from harness.worker.processes import die_with_parent

LEAST_WRONG = 10
LEAST_RIGHT = 2
BATCH = 100  # runs, after which the processes that do them start anew


@dataclass(frozen=True, slots=True)
class Seeds:
    """How many seeds each kind of answer is run on."""

    reference: int
    right: int
    wrong: int


SHORT = Seeds(reference=1, right=1, wrong=1)
LONG = Seeds(reference=100, right=30, wrong=10)


@dataclass(frozen=True, slots=True)
class Job:
    """One answer to run on one seed. `must_break` names the check that has to catch it.

    None: all checks must hold. "": all must break, as they must for a stub; a check that holds for
    an answer that does nothing would hold for anything.
    """

    problem: Problem
    name: str
    source: bytes
    seed: int
    must_break: str | None


@dataclass(frozen=True, slots=True)
class Complaint:
    """Something about a problem or its suite that is not as it should be."""

    what: str
    words: str


def structure(problem: Problem) -> list[Complaint]:
    """What can be seen without running an answer: texts, requirements, checks, edits that fit."""
    claims, wrongs = claims_of(problem), read_wrong(problem)
    requirements = problem.requirements()
    found = [
        *(
            Complaint("statement", f"{r} has no check")
            for r in requirements
            if r not in {claim.requirement for claim in claims}
        ),
        *(
            Complaint(c.id, f"{c.requirement} is not in the statement")
            for c in claims
            if c.requirement not in requirements
        ),
        *(
            Complaint(c.id, "no wrong answer names it")
            for c in claims
            if c.id not in {wrong.caught_by for wrong in wrongs}
        ),
        *(
            Complaint(c.id, f"it has no {part}")
            for c in claims
            for part in ("text", "why", "ask")
            if not getattr(c, part)
        ),
        *(
            Complaint(w.name, f"there is no check {w.caught_by}")
            for w in wrongs
            if w.caught_by not in {claim.id for claim in claims}
        ),
    ]
    return found + _missing_parts(problem, wrongs, claims) + _edits_that_do_not_fit(problem, wrongs)


def _missing_parts(problem: Problem, wrongs: list[Wrong], claims: list[Claim]) -> list[Complaint]:
    found = [
        Complaint(path.name, f"{path} is missing")
        for path in (problem.statement, problem.stub, problem.hints, problem.reference)
        if not path.is_file()
    ]
    if len(wrongs) < LEAST_WRONG:
        found.append(
            Complaint("wrong.toml", f"{len(wrongs)} wrong answers; at least {LEAST_WRONG}")
        )
    if len(problem.right) < LEAST_RIGHT:
        found.append(
            Complaint("right/", f"{len(problem.right)} other right answers; at least {LEAST_RIGHT}")
        )
    if len({claim.id for claim in claims}) != len(claims):
        found.append(Complaint("suite", "two checks have one name"))
    return found


def _edits_that_do_not_fit(problem: Problem, wrongs: list[Wrong]) -> list[Complaint]:
    reference = problem.reference.read_text(encoding="utf-8")
    found = []
    for wrong in wrongs:
        try:
            compile(wrong.source(reference), wrong.name, "exec")
        except (BadPack, SyntaxError) as error:
            found.append(Complaint(wrong.name, str(error)))
    return found


def jobs(problem: Problem, seeds: Seeds) -> list[Job]:
    """Every answer of a problem on every seed it has to be run on."""
    reference = problem.reference.read_bytes()
    text = reference.decode()
    plan: list[tuple[str, bytes, int, str | None]] = []
    plan += [("the reference", reference, seeds.reference, None)]
    plan += [(f"right/{path.name}", path.read_bytes(), seeds.right, None) for path in problem.right]
    plan += [
        (wrong.name, wrong.source(text).encode(), seeds.wrong, wrong.caught_by)
        for wrong in read_wrong(problem)
    ]
    plan += [("the stub", problem.stub.read_bytes(), 1, "")]
    return [
        Job(problem, name, source, seed, must_break)
        for name, source, count, must_break in plan
        for seed in range(count)
    ]


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
    only = frozenset({must_break} if must_break else ())
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
    if any(check.status == BROKE for check in result.checks):
        return ""
    if result.checks and all(check.reason.startswith("needs a ") for check in result.checks):
        return ""  # a machine with that device proves it
    return f"not caught by {job.must_break} {result.could_not_grade}".strip()


@cache
def _session(problem: Problem) -> Session:
    """One warm worker a process: all answers are the author's own."""
    return open_session(problem, b"", problem.slug, LocalSandbox())
