"""One submission against one suite: from a file to a result document."""

from __future__ import annotations

import datetime
import hashlib
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from harness import __version__, scorecard
from harness.judge.budget import QUICK, Budget
from harness.problems import Problem
from harness.remote.faults import OurFault
from harness.remote.session import Session, Submission
from harness.results import VERSION, Check, Result, Run
from harness.results import Problem as ProblemFacts
from harness.results import Submission as SubmissionFacts
from harness.sandbox.base import Sandbox, Spec

PRACTICE_SEED = 20_26


@dataclass(frozen=True, slots=True)
class Options:
    """How to grade. `only` names checks, empty means all; `first` those to run first."""

    seed: int = PRACTICE_SEED
    budget: Budget = QUICK
    only: frozenset[str] = frozenset()
    first: tuple[str, ...] = ()
    device: str = "cpu"


class NoSuchCheck(Exception):
    """`only` names a check that the suite does not have."""

    def __init__(self, wanted: list[str], known: list[str]) -> None:
        super().__init__(f"no check called {', '.join(wanted)}")
        self.wanted = wanted
        self.known = known


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
    checks, our_fault = _run_suite(problem, session, options, tell)
    reason = our_fault.reason if our_fault else ""
    verdict = scorecard.judge(checks, reason if _nothing_known(checks) else "")
    return Result(
        version=VERSION,
        problem=_problem_facts(problem),
        submission=_submission_facts(session.submission),
        run=Run(
            harness=__version__,
            backend=backend.name,
            isolation=backend.describe(),
            device=options.device,
            seed=options.seed,
            budget=options.budget.name,
            worker=session.facts,
            limits=_limits(problem, session),
            restarts=session.restarts,
            started=started.isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - clock, 3),
        ),
        checks=checks,
        level=verdict.level,
        reasons=verdict.reasons,
        could_not_grade=reason,
        remedy=our_fault.remedy if our_fault else "",
    )


def _nothing_known(checks: list[Check]) -> bool:
    return not any(check.status == "broke" for check in checks)


def _limits(problem: Problem, session: Session) -> dict[str, float]:
    return {
        "call_s": problem.call_limit_s,
        "memory_bytes": session.spec.memory_bytes,
        "output_bytes": session.spec.output_bytes,
    }


def _run_suite(
    problem: Problem, session: Session, options: Options, tell: Callable[[Check], None]
) -> tuple[list[Check], OurFault | None]:
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # the user's plugins are not part of a grade
    import pytest

    from harness.judge.judge import Judge

    judge = Judge(
        session,
        options.budget,
        options.seed,
        only=options.only,
        first=options.first,
        call_limit_s=problem.call_limit_s,
        tell=tell,
    )
    arguments = [
        str(problem.suite),
        "-c",
        os.devnull,
        "--rootdir",
        str(problem.suite.parent),
        "--assert=plain",
        "--import-mode=importlib",
        "--capture=no",
        "-p",
        "no:terminal",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:faulthandler",
        "-p",
        "no:unraisableexception",
        "-p",
        "harness.judge.plugin",
    ]
    crashes = _Collection()
    try:
        code = pytest.main(arguments, plugins=[_Named(judge), crashes])
    finally:
        _forget(problem)
    if code == pytest.ExitCode.INTERRUPTED and not crashes.reasons:
        raise KeyboardInterrupt
    missing = sorted(options.only - set(judge.known))
    if missing and judge.known:
        raise NoSuchCheck(missing, judge.known)
    if crashes.reasons:
        return judge.conclude(), OurFault(f"the suite cannot be run: {crashes.reasons[0]}")
    return judge.conclude(), judge.our_fault


def _forget(problem: Problem) -> None:
    """Drop the imported suite: its checks carry this run's seed and budget."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == str(problem.suite):
            del sys.modules[name]


class _Named:
    """Registers the judge under the name its fixture looks for."""

    def __init__(self, judge: object) -> None:
        self._judge = judge

    def pytest_configure(self, config: object) -> None:
        config.pluginmanager.register(self._judge, "harness-judge")  # type: ignore[attr-defined]


class _Collection:
    """Keeps what went wrong while the suite itself was read."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def pytest_collectreport(self, report: object) -> None:
        if getattr(report, "failed", False):
            self.reasons.append(str(getattr(report, "longrepr", ""))[-600:])

    def pytest_internalerror(self, excrepr: object) -> bool:
        self.reasons.append(str(excrepr)[-600:])
        return True  # told in the result; not printed over the report


def _problem_facts(problem: Problem) -> ProblemFacts:
    digest = hashlib.sha256(problem.suite.read_bytes()).hexdigest()
    return ProblemFacts(
        slug=problem.slug,
        title=problem.title,
        topic=problem.topic,
        minutes=problem.minutes,
        suite_sha256=digest,
        expects=problem.expects,
    )


def _submission_facts(submission: Submission) -> SubmissionFacts:
    source = submission.source
    return SubmissionFacts(
        path=submission.path,
        sha256=hashlib.sha256(source).hexdigest(),
        bytes=len(source),
        lines=source.count(b"\n"),
        source=source.decode("utf-8", "replace"),
    )
