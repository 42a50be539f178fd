"""How long a round may take on this machine: many times what the reference takes, with a floor.

A run that ends for want of time says nothing of the candidate by itself. The reference's own run,
on the same machine and right after, tells a slow machine from answers that use the time up.
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


def settle_time(
    problem: Problem,
    session: Session,
    options: Options,
    found: Run,
    *,
    reference: Callable[[bytes], Session],
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


def _seconds(
    problem: Problem, options: Options, reference: Callable[[bytes], Session]
) -> float | None:
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
    more = run_suite(problem, session, again, tell)
    newer = {check.id: check for check in more.checks}
    return Run(
        [newer.get(check.id, check) for check in found.checks],
        more.our_fault,
        more.out_of_time,
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
