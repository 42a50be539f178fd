"""How long a call and a round may take: many times what the reference takes here, with a floor.

A call or a run that ends for want of time says nothing of the candidate by itself. The reference's
own run, on the same machine and right after, tells a slow machine from answers that use the time
up. It costs nothing while nobody needs more than the floor.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from harness.judge.run import Options, Run, run_suite
from harness.problems import Problem
from harness.remote.faults import Kind, OurFault
from harness.remote.session import Session
from harness.results import BROKE, Check, Finding

TIMES_THE_REFERENCE = 10


@dataclass(frozen=True, slots=True)
class Trial:
    """A submission that was run once, and what it takes to run it or the reference again."""

    problem: Problem
    session: Session
    options: Options
    reference: Callable[[bytes], Session]
    tell: Callable[[Check], None]


def settle(trial: Trial, found: Run) -> tuple[Run, dict[str, float]]:
    """The run with nothing in it that only a slow machine did, and the limits it was judged by."""
    limits = {"run_s": trial.options.budget.run_s, "call_s": trial.problem.call_limit_s}
    if found.our_fault is None:
        found, limits["call_s"] = _with_longer_calls(trial, found)
    if found.out_of_time and found.our_fault is None:
        patient = dataclasses.replace(trial.problem, call_limit_s=limits["call_s"])
        found, limits["run_s"] = _with_more_time(dataclasses.replace(trial, problem=patient), found)
    return found, limits


def _with_longer_calls(trial: Trial, found: Run) -> tuple[Run, float]:
    """Give the checks that broke by a hang ten times the reference's slowest call, if that is more.

    Where the reference hangs in them too, its slowest call took as long as the limit.
    """
    limit_s = trial.problem.call_limit_s
    hung = frozenset(check.id for check in found.checks if _is_hung(check))
    only = dataclasses.replace(trial.options, only=hung)
    right = _run_of_reference(trial, only) if hung else None
    if right is None or TIMES_THE_REFERENCE * right[1] <= limit_s:
        return found, limit_s
    limit_s = TIMES_THE_REFERENCE * right[1]
    patient = dataclasses.replace(trial.problem, call_limit_s=limit_s)
    return _merged(found, run_suite(patient, trial.session, only, trial.tell)), limit_s


def _is_hung(check: Check) -> bool:
    return check.finding is not None and check.finding.fault == Kind.HUNG.value


def _with_more_time(trial: Trial, found: Run) -> tuple[Run, float]:
    """Give the checks without time ten times what the reference needs.

    What is missing even then was used up by the candidate's answers and broke. Where the reference
    does not get through either, the machine is too slow and the checks stay unassessed.
    """
    limit_s = trial.options.budget.run_s
    right = _run_of_reference(trial, trial.options)
    if right is not None and not right[0].our_fault and not right[0].out_of_time:
        limit_s = max(limit_s, TIMES_THE_REFERENCE * right[0].seconds)
        found = _continued(trial, found, limit_s)
        checks = [
            _used_up(check, limit_s, right[0].seconds) if check.id in found.out_of_time else check
            for check in found.checks
        ]
        found = dataclasses.replace(found, checks=checks)
    for check in found.checks:
        if check.id in found.out_of_time:
            trial.tell(check)
    return found, limit_s


def _continued(trial: Trial, found: Run, limit_s: float) -> Run:
    """The run with its checks that were out of time run again in what is left of the limit."""
    left = limit_s - trial.options.budget.run_s
    if left < 1:
        return found
    budget = dataclasses.replace(trial.options.budget, run_s=left)
    again = dataclasses.replace(trial.options, budget=budget, only=found.out_of_time)
    return _merged(found, run_suite(trial.problem, trial.session, again, trial.tell))


def _run_of_reference(trial: Trial, options: Options) -> tuple[Run, float] | None:
    """The reference's run of these checks, right after, and its slowest call; None without one."""
    if not trial.problem.reference.is_file():
        return None
    trial.session.close()  # nothing that it left running may slow the reference down
    session = trial.reference(trial.problem.reference.read_bytes())
    try:
        run = run_suite(trial.problem, session, options, lambda check: None)
    except OurFault:
        return None
    finally:
        session.close()
    return run, session.slowest_s


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
