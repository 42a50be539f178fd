"""How long a call and a round may take: many times what the reference takes here, with a floor.

A call or a run that ends for want of time says nothing of the candidate by itself. The reference's
own run, on the same machine and right after, tells a slow machine from answers that use the time
up. It costs nothing while nobody needs more than the floor.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import msgspec

from harness.judge.run import Options, Run, run_suite
from harness.problems import Problem
from harness.remote.faults import Kind, OurFault
from harness.remote.session import Session
from harness.results import BROKE, Check, Finding

TIMES_THE_REFERENCE = 10

Tell = Callable[[Check], None]
Reference = Callable[[bytes], Session]


def settle_calls(
    problem: Problem,
    session: Session,
    options: Options,
    found: Run,
    *,
    reference: Reference,
    tell: Tell,
) -> tuple[Run, float]:
    """Give the checks that broke by a hang ten times the reference's slowest call, if that is more.

    Returns the run and the limit of a call that it was judged by.
    """
    hung = frozenset(check.id for check in found.checks if _is_hung(check))
    limit_s = problem.call_limit_s
    if not hung or not problem.reference.is_file():
        return found, limit_s
    session.close()  # nothing that it left running may slow the reference down
    only = dataclasses.replace(options, only=hung)
    limit_s = max(limit_s, TIMES_THE_REFERENCE * _slowest_s(problem, only, reference))
    if limit_s == problem.call_limit_s:
        return found, limit_s
    patient = dataclasses.replace(problem, call_limit_s=limit_s)
    return _merged(found, run_suite(patient, session, only, tell)), limit_s


def _is_hung(check: Check) -> bool:
    return check.finding is not None and check.finding.fault == Kind.HUNG.value


def _slowest_s(problem: Problem, options: Options, reference: Reference) -> float:
    """The reference's slowest call in the same checks; as long as the limit when it hangs too."""
    session = reference(problem.reference.read_bytes())
    try:
        run_suite(problem, session, options, lambda check: None)
    except OurFault:
        return 0.0
    finally:
        session.close()
    return session.slowest_s


def settle_time(
    problem: Problem,
    session: Session,
    options: Options,
    found: Run,
    *,
    reference: Reference,
    tell: Tell,
) -> tuple[Run, float]:
    """Give the checks without time ten times what the reference needs; the run and that limit.

    What is missing even then was used up by the candidate's answers and broke. Where the reference
    does not get through either, the machine is too slow and the checks stay unassessed.
    """
    limit_s = options.budget.run_s
    session.close()  # nothing that it left running may slow the reference down
    reference_s = _seconds(problem, options, reference)
    if reference_s is not None:
        limit_s = max(limit_s, TIMES_THE_REFERENCE * reference_s)
        found = _with_more_time(problem, session, options, found, limit_s, tell)
    checks = [
        _used_up(check, limit_s, reference_s)
        if reference_s is not None and check.id in found.out_of_time
        else check
        for check in found.checks
    ]
    for check in checks:
        if check.id in found.out_of_time:
            tell(check)
    return dataclasses.replace(found, checks=checks), limit_s


def _seconds(problem: Problem, options: Options, reference: Reference) -> float | None:
    """What the same checks take with the reference; None when it does not get through them."""
    if not problem.reference.is_file():
        return None
    session = reference(problem.reference.read_bytes())
    try:
        run = run_suite(problem, session, options, lambda check: None)
    except OurFault:
        return None
    finally:
        session.close()
    return None if run.our_fault or run.out_of_time else run.seconds


def _with_more_time(
    problem: Problem, session: Session, options: Options, found: Run, limit_s: float, tell: Tell
) -> Run:
    """The run with its checks that were out of time run again in what is left of the limit."""
    left = limit_s - options.budget.run_s
    if left < 1:
        return found
    budget = dataclasses.replace(options.budget, run_s=left)
    again = dataclasses.replace(options, budget=budget, only=found.out_of_time)
    return _merged(found, run_suite(problem, session, again, tell))


def _merged(found: Run, more: Run) -> Run:
    """The first run with the checks of the second in their places."""
    newer = {check.id: check for check in more.checks}
    return Run(
        [newer.get(check.id, check) for check in found.checks],
        more.our_fault,
        (found.out_of_time - newer.keys()) | more.out_of_time,
        found.seconds + more.seconds,
    )


def _used_up(check: Check, limit_s: float, reference_s: float) -> Check:
    finding = Finding(
        fault=Kind.HUNG.value,
        script=[],
        imports=[],
        wanted=f"the answers of a whole round within {limit_s:.0f} s; "
        f"on this machine {reference_s:.1f} s suffice for right ones",
        got=f"hung: the time was used up by earlier answers, after {check.examples} examples",
    )
    return msgspec.structs.replace(check, status=BROKE, reason="", finding=finding)
