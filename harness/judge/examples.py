"""Running one check over its examples and keeping the smallest that breaks it."""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.errors import Flaky, StopTest, UnsatisfiedAssumption
from hypothesis.internal.entropy import deterministic_PRNG

from harness.judge.budget import HANG_LIMIT_S, HANGS_A_CHECK, Budget
from harness.remote.faults import (
    CandidateFault,
    CannotAssess,
    Kind,
    OurFault,
    SandboxLost,
    TimeSpent,
)
from harness.suite.calls import Broke, Call, Record
from harness.suite.candidate import Candidate
from harness.suite.claims import Claim

PREPARED = "harness_is_prepared"
PASSES_THROUGH = (StopTest, UnsatisfiedAssumption)  # Hypothesis' own control flow
Drawn = list[tuple[tuple[Any, ...], dict[str, Any]]]  # the arguments of a check, example by example


class Source(Protocol):
    """Where examples come from that were drawn by somebody else."""

    def get(self, check: str, /) -> Drawn | None:
        """Those of the check that is to be run now; None when it has to draw them."""


NOTHING: Source = MappingProxyType[str, Drawn]({})


@dataclass(frozen=True, slots=True)
class Failure:
    """One example that broke: its calls and what was raised."""

    calls: list[Call]
    error: Exception
    shown: list[Call]

    @property
    def size(self) -> int:
        return len(self.calls)


@dataclass(slots=True)
class Examples:
    """The examples of one check as they run, and the failures among them."""

    candidate: Candidate
    claim: Claim
    budget: Budget
    until: float
    count: int = 0
    first: Failure | None = None
    last: Failure | None = None
    smallest: Failure | None = None
    hangs: int = 0
    ended_early: bool = False
    seconds: float = field(default=0.0)

    def around_check(self, check: Any) -> Any:
        """A check as pytest calls it, each of its examples run by `around`."""
        if not hasattr(check, "hypothesis"):
            return self.around(check)
        inner = getattr(check.hypothesis, "harness_inner", check.hypothesis.inner_test)
        check.hypothesis.harness_inner = inner  # as the suite wrote it
        check.hypothesis.inner_test = self.around(inner)
        return check

    def over(self, check: Any, drawn: Drawn) -> Callable[..., None]:
        """A check on examples that were drawn ahead; it ends with the first that breaks."""
        example = self.around(
            getattr(check.hypothesis, "harness_inner", check.hypothesis.inner_test)
        )

        def all_of_them(candidate: Candidate) -> None:
            for args, kwargs in drawn:
                with deterministic_PRNG():  # as Hypothesis does
                    example(*args, **kwargs | {"candidate": candidate})

        return all_of_them

    def release(self, check: Any) -> None:
        """Let go of the answers: a suite may live on, and they are large."""
        if hasattr(getattr(check, "hypothesis", None), "harness_inner"):
            check.hypothesis.inner_test = check.hypothesis.harness_inner
        self.candidate.begin_example()
        self.first = self.last = self.smallest = None

    def around(self, check: Callable[..., Any]) -> Callable[..., Any]:
        """`check`, one example at a time: a fresh record, and its failure kept when it happens."""

        @functools.wraps(check)
        def example(*args: Any, **kwargs: Any) -> Any:
            if time.monotonic() > self.until:
                raise TimeSpent
            self.candidate.begin_example()
            if self.first is None:
                self.count += 1
            try:
                return check(*args, **kwargs)
            except PASSES_THROUGH:
                raise
            except Exception as error:
                self._keep(error)
                raise

        return example

    def _keep(self, error: Exception) -> None:
        record = self.candidate.record
        shown = _shown(error, record)
        failure = Failure(record.up_to(shown), error, shown)
        if self.first is None:
            self.first = failure
            self.until = min(self.until, time.monotonic() + self.budget.shrink_s)
            self.candidate.limit_time(self.until)
        self.last = failure
        if self.smallest is None or failure.size <= self.smallest.size:
            self.smallest = failure
        if isinstance(error, CandidateFault) and error.fault.kind is Kind.HUNG:
            self.hangs += 1
            self.candidate.limit_calls(HANG_LIMIT_S)
            if self.hangs >= HANGS_A_CHECK:
                raise TimeSpent from None

    def failure(self) -> Failure | None:
        """The failure to show: Hypothesis' last replay, or the smallest when it was cut short."""
        return self.smallest if self.ended_early else self.last


def _shown(error: Exception, record: Record) -> list[Call]:
    """The calls that a failure is about."""
    if isinstance(error, Broke) and error.shown:
        return [call for call in error.shown if call in record.calls]
    faulty = [call for call in record.calls if call.fault is not None]
    call = getattr(error, "call", None)
    if call in record.calls:
        return [call]
    return faulty[:1] or [call for call in record.calls if not call.probe][-1:]


def run_examples(check: Any, claim: Claim, budget: Budget, seed: int) -> None:
    """Prepare a check for Hypothesis: its number of examples, its seed, no clock, no database."""
    if hasattr(check, PREPARED):
        return  # with this seed and budget, before this process was forked
    setattr(check, PREPARED, True)
    phases = [Phase.explicit, Phase.generate]
    if budget.shrink:
        phases.append(Phase.shrink)
    settings = hypothesis.settings(
        max_examples=max(1, round(budget.examples * claim.examples)),
        deadline=None,
        database=None,
        derandomize=False,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=phases,
        verbosity=hypothesis.Verbosity.quiet,
        stateful_step_count=30,
    )
    settings(hypothesis.seed(_seed_of(claim.id, seed))(check))


def _seed_of(check_id: str, seed: int) -> int:
    """Each check has its own stream, so that running one alone gives the same examples."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{check_id}".encode()).digest()[:8], "big")


def is_unsettled(failed: BaseException | None) -> bool:
    """Whether examples drawn ahead left it open how a check ends: Hypothesis has to run it."""
    return isinstance(failed, (*PASSES_THROUGH, Exception)) and not isinstance(
        failed, (OurFault, CannotAssess, TimeSpent, SandboxLost)
    )


Ended = tuple[BaseException | None, Examples]


def settled(ahead: Ended, again: Ended) -> Ended:
    """How a check ended that broke on examples drawn ahead: as Hypothesis ran it.

    What the candidate broke once stays broken, also when it holds the second time.
    """
    failed, examples = again
    broke = ahead[1].first
    if failed is None and broke is not None and isinstance(broke.error, (Broke, CandidateFault)):
        return Flaky("it broke, and held the second time"), ahead[1]
    return failed, examples


def is_nondeterministic(error: BaseException) -> bool:
    """Whether Hypothesis saw the same example break once and hold once."""
    return isinstance(error, Flaky)
