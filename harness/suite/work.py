"""How work grows: the CPU time of the same calls at two sizes, read from outside the process."""

from __future__ import annotations

from collections.abc import Callable

from harness.suite.calls import Broke
from harness.suite.candidate import Candidate, Program

TRIALS = 5  # the least of them counts: a busy machine only ever adds
HOPELESS = 4  # times what is allowed, twice: no further trial brings that down


def cpu_ns(candidate: Candidate, plan: Callable[[Program], object]) -> int:
    """The CPU time of the calls that `plan` adds to a program, in nanoseconds."""
    candidate.settle()
    before = candidate.used().cpu_ns
    program = candidate.program(echo=False)
    plan(program)
    program.run()
    program.all_answered()
    return candidate.used().cpu_ns - before


def stays_level(
    candidate: Candidate,
    prepare: Callable[[int], Callable[[Program], object]],
    *,
    small: int,
    large: int,
    of: str,
    sketch: list[str],
    at_most: float = 5.0,
) -> None:
    """Break when the calls cost more than `at_most` times as much at the large size.

    `prepare(size)` builds the state once and returns the plan to be timed, which leaves the state
    as large as it was; `sketch` shows a reader both in a few lines. A walk over the size would
    cost `large / small` times as much.
    """
    candidate.begin_example()
    base = max(_least(candidate, prepare(small)), 1)
    candidate.begin_example()
    ratio = _least(candidate, prepare(large), enough=at_most * base) / base
    if ratio > at_most:
        raise Broke(
            f"about the same work at {small:,} and at {large:,} {of}",
            f"{ratio:,.0f} times the CPU time at {large:,} {of}",
            sketch=sketch,
        )


def _least(candidate: Candidate, plan: Callable[[Program], object], enough: float = 0) -> int:
    """The least CPU time of some trials, as many as it takes to tell it from `enough`."""
    least = cpu_ns(candidate, plan)
    for trial in range(1, TRIALS):
        if least <= enough or (enough and trial > 1 and least > HOPELESS * enough):
            break
        least = min(least, cpu_ns(candidate, plan))
    return least
