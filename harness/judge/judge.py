"""The judge on one pytest run: gives each check a fresh process and turns its end into a result."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from harness.judge.budget import REPLAY_LIMIT_S, Budget
from harness.judge.examples import (
    NOTHING,
    Examples,
    Failure,
    Source,
    is_nondeterministic,
    is_unsettled,
    run_examples,
    settled,
)
from harness.judge.findings import bare, changed_argument, find, import_finding
from harness.remote.faults import (
    CandidateFault,
    CannotAssess,
    Fault,
    OurFault,
    SandboxLost,
    TimeSpent,
)
from harness.remote.session import Session
from harness.results import BROKE, HELD, NOT_ASSESSED, Check, Finding
from harness.stopped import is_a_stop
from harness.suite.candidate import Candidate
from harness.suite.claims import ATTRIBUTE, Claim


class Judge:
    """Collects a `Check` for every claim of the suite; the suite's source is never shown."""

    def __init__(
        self,
        session: Session,
        budget: Budget,
        seed: int,
        *,
        only: frozenset[str],
        first: tuple[str, ...] = (),
        call_limit_s: float,
        drawn: Source = NOTHING,
        tell: Callable[[Check], None],
    ) -> None:
        self.checks: list[Check] = []
        self.known: list[str] = []
        self.known_to_import = False
        self.our_fault: OurFault | None = None
        self.import_fault: Fault | None = None
        self.candidate: Candidate
        self._session = session
        self._budget = budget
        self._seed = seed
        self._only = only
        self._first = first
        self._call_limit_s = call_limit_s
        self._drawn = drawn
        self._tell = tell
        self._until = time.monotonic() + budget.run_s
        self._spare_s = budget.run_s  # what may be given back: slow answers bend no limit
        self._changed: tuple[Candidate, Failure] | None = None
        self._about_arguments: frozenset[str] = frozenset()
        self._asked: list[Claim] = []
        self.out_of_time: set[str] = set()  # checks that the time of the run did not suffice for

    # pytest's hooks

    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        """Keep the checks asked for, in the suite's order but for those to run first."""
        claims = [(item, getattr(item.obj, ATTRIBUTE, None)) for item in items]
        self.known = [claim.id for _, claim in claims if claim]
        self._about_arguments = frozenset(c.id for _, c in claims if c and c.arguments)
        chosen = [(i, c.id) for i, c in claims if c and (not self._only or c.id in self._only)]
        items[:] = [item for item, name in sorted(chosen, key=lambda pair: self._place(pair[1]))]
        self._asked = [getattr(item.obj, ATTRIBUTE) for item in items]
        for item in items:
            if hasattr(item.obj, "hypothesis"):
                run_examples(item.obj, getattr(item.obj, ATTRIBUTE), self._budget, self._seed)

    def _place(self, name: str) -> int:
        return self._first.index(name) if name in self._first else len(self._first)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Any:
        """A candidate of its own for every check; the first one finds out whether it imports."""
        claim: Claim = getattr(item.obj, ATTRIBUTE)
        if not self.known_to_import and self.our_fault is None:
            self._import()
        self._fresh_candidate(item, claim)
        return (yield)

    def _fresh_candidate(self, item: pytest.Function, claim: Claim) -> None:
        self._session.forget_process()
        self.candidate = Candidate(
            self._session,
            records=getattr(item.module, "RECORDS", {}),
            call_limit_s=self._call_limit_s,
            until=self._until,
            strict_arguments=claim.arguments,
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Any:
        """Run one check to its end and record how it went."""
        claim: Claim = getattr(pyfuncitem.obj, ATTRIBUTE)
        examples = Examples(self.candidate, claim, self._budget, self._until)
        started = time.monotonic()
        reason = self._reason_not_to_run(claim)
        failed: BaseException | None = None
        inner = pyfuncitem.obj
        runs = not reason and self.import_fault is None
        drawn = self._drawn.get(claim.id) if runs else None
        if drawn is not None:
            pyfuncitem.obj = examples.over(inner, drawn)
        else:
            pyfuncitem.obj = examples.around_check(inner) if runs else lambda **_: None
        self._session.forgives_a_loss = True
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - sorted by type in _outcome
            failed = error
        if drawn is not None and is_unsettled(failed):
            self._give_back(time.monotonic() - started)  # as if nothing had been run ahead
            self._fresh_candidate(pyfuncitem, claim)
            again = Examples(self.candidate, claim, self._budget, self._until)
            failed, examples = settled(
                (failed, examples), (_again(again.around_check(inner), self.candidate), again)
            )
        self._session.forgives_a_loss = False
        if isinstance(failed, SandboxLost) and examples.first is None:  # what broke stays so
            examples = Examples(self.candidate, claim, self._budget, self._until)
            failed = _again(examples.around_check(inner), self.candidate)
        if self.import_fault is not None:
            check = self._not_importable(claim)
        else:
            check = self._outcome(claim, examples, failed, reason, time.monotonic() - started)
        self.checks.append(check)
        examples.release(inner)
        self._tell(check)
        if is_a_stop(failed):
            raise KeyboardInterrupt
        return True

    def _give_back(self, seconds: float) -> None:
        seconds = min(seconds, self._spare_s)
        self._spare_s -= seconds
        self._until += seconds

    def _import(self) -> None:
        self.known_to_import = True
        self._session.forgives_a_loss = True
        try:
            try:
                self._session.fork()
            except SandboxLost:
                self._session.fork()
        except CandidateFault as error:
            self.import_fault = error.fault
        except OurFault as error:
            self.our_fault = error

    # how a check ended

    def _reason_not_to_run(self, claim: Claim) -> str:
        if self.our_fault is not None:
            return self.our_fault.reason
        if claim.device and claim.device != self._session.spec.device:
            return f"needs a {claim.device} device"
        if time.monotonic() > self._until:
            self.out_of_time.add(claim.id)
            return f"the time for the run was used up ({self._budget.run_s:g} s)"
        return ""

    def _outcome(
        self,
        claim: Claim,
        examples: Examples,
        failed: BaseException | None,
        reason: str,
        seconds: float,
    ) -> Check:
        finding = None
        status = HELD
        if isinstance(failed, OurFault):
            self.our_fault = failed
        if reason:
            status = NOT_ASSESSED
        elif is_a_stop(failed):
            status, reason = NOT_ASSESSED, "stopped by hand"
        elif examples.first is not None:  # whatever came after: it broke
            status = BROKE
            examples.ended_early = not isinstance(failed, Exception)
            finding = self._finding(examples, failed)
        elif isinstance(failed, (OurFault, CannotAssess)):
            status, reason = NOT_ASSESSED, failed.reason
        elif isinstance(failed, TimeSpent):
            self.out_of_time.add(claim.id)
            status, reason = NOT_ASSESSED, f"time ran out after {examples.count} examples"
        elif failed is not None:
            status, reason = NOT_ASSESSED, f"the check itself failed: {failed!r:.300}"
        elif self.candidate.changed_arguments:
            record = self.candidate.changed_arguments[0]
            self._changed = self._changed or (self.candidate, changed_argument(record))
        return _check(
            claim,
            status,
            reason=reason,
            finding=finding,
            examples=examples.count,
            seconds=round(seconds, 3),
        )

    def _finding(self, examples: Examples, failed: BaseException | None) -> Finding:
        failure, first = examples.failure(), examples.first
        assert failure is not None and first is not None
        flaky = failed is not None and is_nondeterministic(failed)
        return self._found(self.candidate, failure, first, flaky=flaky)

    def _found(
        self, candidate: Candidate, failure: Failure, first: Failure, *, flaky: bool
    ) -> Finding:
        """The finding; a check stays broken when its finding cannot be written."""
        candidate.limit_time(time.monotonic() + REPLAY_LIMIT_S)
        candidate.limit_calls(self._call_limit_s)
        try:
            return find(candidate, failure, first, flaky=flaky)
        except OurFault as error:
            self.our_fault = error
        except Exception:  # noqa: BLE001 - answers made to trip whoever shows them
            return bare(failure)
        return bare(failure)

    def _not_importable(self, claim: Claim) -> Check:
        assert self.import_fault is not None
        return _check(claim, BROKE, finding=import_finding(self.import_fault))

    def conclude(self) -> list[Check]:
        """A check for every claim; a change of arguments seen in passing is charged to its own."""
        judged = {check.id: self._charged(check) for check in self.checks}
        lost = [claim for claim in self._asked if claim.id not in judged]
        if lost and self.our_fault is None:
            self.our_fault = OurFault(f"the judge lost the check {lost[0].id}")
        for claim in lost:
            judged[claim.id] = _check(claim, NOT_ASSESSED, reason="the judge did not finish it")
        return list(judged.values())

    def _charged(self, check: Check) -> Check:
        if check.status != HELD or check.id not in self._about_arguments or self._changed is None:
            return check
        candidate, failure = self._changed
        finding = self._found(candidate, failure, failure, flaky=False)
        return msgspec.structs.replace(check, status=BROKE, finding=finding)


def _again(check: Callable[..., object], candidate: Candidate) -> BaseException | None:
    """Run a check once more, outside of pytest; what it raised."""
    try:
        check(candidate=candidate)
    except BaseException as error:  # noqa: BLE001 - sorted by type in _outcome
        return error
    return None


def _check(claim: Claim, status: str, **more: Any) -> Check:
    return Check(
        id=claim.id,
        kind=claim.kind.value,
        requirement=claim.requirement,
        claim=claim.text,
        why=claim.why,
        ask=claim.ask,
        status=status,
        **more,
    )
