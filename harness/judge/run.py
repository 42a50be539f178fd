"""One run of a problem's suite on one worker, in a pytest of its own."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.judge.budget import QUICK, Budget
from harness.problems import Problem
from harness.remote.faults import OurFault
from harness.remote.session import Session
from harness.results import Check

if TYPE_CHECKING:
    from harness.judge.ahead import Ahead

PRACTICE_SEED = 20_26


@dataclass(frozen=True, slots=True)
class Options:
    """How to grade. `only` names checks, empty means all; `first` those to run first.

    `ahead` holds examples drawn for this seed and budget, here or in the process this one was
    forked from; the suite they were drawn for stays imported. `draws_beside`: without them, a
    second process draws some while checks run, on a core of its own.
    """

    seed: int = PRACTICE_SEED
    budget: Budget = QUICK
    only: frozenset[str] = frozenset()
    first: tuple[str, ...] = ()
    device: str = "cpu"
    ahead: Ahead | None = None
    draws_beside: bool = False


class NoSuchCheck(Exception):
    """`only` names a check that the suite does not have."""

    def __init__(self, wanted: list[str], known: list[str]) -> None:
        super().__init__(f"no check called {', '.join(wanted)}")
        self.wanted = wanted
        self.known = known


@dataclass(frozen=True, slots=True)
class Run:
    """What one run found. `out_of_time` are the checks that the time did not suffice for."""

    checks: list[Check]
    our_fault: OurFault | None
    out_of_time: frozenset[str]
    seconds: float


def run_suite(
    problem: Problem, session: Session, options: Options, tell: Callable[[Check], None]
) -> Run:
    """Run the checks that `options` names; told as they end, but for those out of time."""
    started = time.monotonic()
    _without_the_users_plugins()
    import pytest

    from harness.judge.apart import kept_to_the_seed
    from harness.judge.beside import Beside
    from harness.judge.judge import Judge

    beside = None
    if options.draws_beside and not options.ahead:
        with contextlib.suppress(OSError):  # no place for a file: the judge draws for itself
            beside = Beside()
    judge = Judge(
        session,
        options.budget,
        options.seed,
        only=options.only,
        first=options.first,
        call_limit_s=problem.call_limit_s,
        drawn=options.ahead.take() if options.ahead else beside or {},
        tell=lambda check: None if check.id in judge.out_of_time else tell(check),
    )
    crashes = _Collection()
    try:
        with kept_to_the_seed():
            plugins = [_Named(judge), crashes, *([beside] if beside else [])]
            code = pytest.main(pytest_arguments(problem), plugins=plugins)
    finally:
        if beside:
            beside.end()
        if options.ahead is None:
            _forget(problem)
    if code == pytest.ExitCode.INTERRUPTED and not crashes.reasons:
        raise KeyboardInterrupt
    missing = sorted(options.only - set(judge.known))
    if missing and judge.known:
        raise NoSuchCheck(missing, judge.known)
    checks = judge.conclude()
    our_fault = judge.our_fault
    if crashes.reasons:
        our_fault = OurFault(f"the suite cannot be run: {crashes.reasons[0]}")
    return Run(checks, our_fault, frozenset(judge.out_of_time), time.monotonic() - started)


def pytest_arguments(problem: Problem) -> list[str]:
    """pytest on a suite, with nothing of the user's and nothing printed."""
    _without_the_users_plugins()
    _forget_namesakes(problem)
    return [
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


def _without_the_users_plugins() -> None:
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # the user's plugins are not part of a grade
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(name, None)  # nor are their options


def _forget(problem: Problem) -> None:
    """Drop the imported suite: its checks carry this run's seed and budget."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == str(problem.suite):
            del sys.modules[name]


def _forget_namesakes(problem: Problem) -> None:
    """Drop suites of other packs that have this one's name: pytest would take one for the other."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if file != str(problem.suite) and Path(file).parts[-2:] == problem.suite.parts[-2:]:
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
            self.reasons.append(_what_happened(str(getattr(report, "longrepr", ""))))

    def pytest_internalerror(self, excrepr: object) -> bool:
        self.reasons.append(_what_happened(str(excrepr)))
        return True  # told in the result; not printed over the report


def _what_happened(told: str) -> str:
    """The error itself, out of pytest's account of how it came about."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    errors = [line.removeprefix("E ").strip() for line in lines if line.startswith("E ")]
    return (errors or lines or ["pytest does not say why"])[-1][:600]
