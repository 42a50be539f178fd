"""One submission against one suite: from a file to a result document."""

from __future__ import annotations

import datetime
import hashlib
import time
from collections.abc import Callable

from harness import __version__, scorecard
from harness.judge.limits import Trial, settle
from harness.judge.run import PRACTICE_SEED, NoSuchCheck, Options, run_suite
from harness.problems import Problem
from harness.remote.faults import OurFault
from harness.remote.session import Session, Submission
from harness.results import VERSION, Check, Result, Run
from harness.results import Problem as ProblemFacts
from harness.results import Submission as SubmissionFacts
from harness.sandbox.base import Sandbox, Spec
from harness.suite.printable import printable

__all__ = ["PRACTICE_SEED", "NoSuchCheck", "Options", "grade", "grade_and_keep", "not_graded",
           "open_session"]  # fmt: skip


def spec_for(problem: Problem, device: str = "cpu") -> Spec:
    """What the worker of a problem has to provide."""
    return Spec(preload=problem.needs, device=device)


def open_session(
    problem: Problem, source: bytes, path: str, sandbox: Sandbox, device: str = "cpu"
) -> Session:
    """A session whose worker is starting already; nothing waits for it yet."""
    watch = ("triton",) if "triton" in problem.needs else ()
    session = Session(
        sandbox, spec_for(problem, device), Submission(problem.slug, source, path), watch=watch
    )
    try:
        session.start()
    except OurFault:
        return session  # said again, with its reason, by whoever waits for the worker
    except BaseException:  # stopped by hand: nobody else knows of it yet
        session.close()
        raise
    return session


def grade(
    problem: Problem,
    session: Session,
    options: Options,
    *,
    backend: Sandbox,
    tell: Callable[[Check], None] = lambda check: None,
) -> Result:
    """Run the suite on an opened session and close it; the whole result, whatever happened."""
    try:
        return grade_and_keep(problem, session, options, backend=backend, tell=tell)
    finally:
        session.close()


def grade_and_keep(
    problem: Problem,
    session: Session,
    options: Options,
    *,
    backend: Sandbox,
    tell: Callable[[Check], None] = lambda check: None,
) -> Result:
    """The same, with the session left open: for an author's own files, one after the other."""
    started = datetime.datetime.now(datetime.UTC)
    clock = time.monotonic()
    found = run_suite(problem, session, options, tell)

    def reference(source: bytes) -> Session:
        return open_session(problem, source, "the reference", backend, options.device)

    found, limits = settle(Trial(problem, session, options, reference, tell), found)
    facts = _run_facts(
        session,
        options,
        backend,
        limits=limits,
        started=started.isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - clock, 3),
    )
    return _document(problem, session.submission, facts, found.checks, found.our_fault)


def not_graded(
    problem: Problem, submission: Submission, options: Options, backend: Sandbox, fault: OurFault
) -> Result:
    """The result of a run that a failure of ours left without one."""
    session = Session(backend, spec_for(problem, options.device), submission)
    limits = {"run_s": options.budget.run_s, "call_s": problem.call_limit_s}
    facts = _run_facts(session, options, backend, limits=limits)
    return _document(problem, submission, facts, [], fault)


def _document(
    problem: Problem,
    submission: Submission,
    facts: Run,
    checks: list[Check],
    our_fault: OurFault | None,
) -> Result:
    reason = our_fault.reason if our_fault else ""
    verdict = scorecard.judge(checks, reason if _nothing_known(checks) else "")
    return Result(
        version=VERSION,
        problem=_problem_facts(problem),
        submission=_submission_facts(submission),
        run=facts,
        checks=checks,
        level=verdict.level,
        reasons=verdict.reasons,
        could_not_grade=reason,
        remedy=our_fault.remedy if our_fault else "",
    )


def _run_facts(
    session: Session,
    options: Options,
    backend: Sandbox,
    *,
    limits: dict[str, float],
    started: str = "",
    seconds: float = 0.0,
) -> Run:
    return Run(
        harness=__version__,
        backend=backend.name,
        isolation=backend.describe(),
        device=options.device,
        seed=options.seed,
        budget=options.budget.name,
        worker=session.facts,
        limits={**limits, **_bytes(session)},
        restarts=session.restarts,
        started=started,
        seconds=seconds,
    )


def _nothing_known(checks: list[Check]) -> bool:
    return not any(check.status == "broke" for check in checks)


def _bytes(session: Session) -> dict[str, float]:
    return {
        "memory_bytes": session.spec.memory_bytes,
        "output_bytes": session.spec.output_bytes,
    }


def _problem_facts(problem: Problem) -> ProblemFacts:
    return ProblemFacts(
        slug=problem.slug,
        title=problem.title,
        topic=problem.topic,
        minutes=problem.minutes,
        suite_sha256=problem.suite_sha256(),
        expects=problem.expects,
    )


def _submission_facts(submission: Submission) -> SubmissionFacts:
    source = submission.source
    return SubmissionFacts(
        path=printable(submission.path),
        sha256=hashlib.sha256(source).hexdigest(),
        bytes=len(source),
        lines=source.count(b"\n"),
        source=source.decode("utf-8", "replace"),
    )
