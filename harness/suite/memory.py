"""How memory grows: the peak of a fresh process at two sizes each way, read from outside it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from harness.suite.candidate import Candidate, Program, Reply

TRIALS = 3  # the least of them counts: what an allocator leaves between its blocks varies

Plan = Callable[[Program, int, int, int], Reply]  # of rows, columns and a turn


def bytes_a_pair(candidate: Candidate, plan: Plan, right: Callable[[Reply], object],
                 rows: tuple[int, int], columns: tuple[int, int], *,
                 enough: float = 0.0) -> tuple[float, Reply]:  # fmt: skip
    """Bytes of peak memory that each pair of a row and a column costs, and the largest reply.

    `plan(program, rows, columns, turn)` adds the calls; both sizes of each are combined. What never
    grows cancels, and so does what grows with rows alone or columns alone: a table of all pairs is
    what is left. One trial below `enough` is all that is made.

    `turn` is another one each time, for inputs that no earlier process can have kept the answer to.
    `right` looks at the largest reply of every trial: a wrong answer may be had for no memory.
    """
    least, turns = float("inf"), count()
    for _ in range(TRIALS):
        peaks = {}
        for height in rows:
            for width in columns:
                peaks[height, width], reply = _peak(candidate, plan, height, width, next(turns))
        right(reply)
        (low, high), (narrow, wide) = rows, columns
        joint = peaks[high, wide] - peaks[high, narrow] - peaks[low, wide] + peaks[low, narrow]
        least = min(least, joint / ((high - low) * (wide - narrow)))
        if least < enough:
            break
    return least, reply


def _peak(
    candidate: Candidate, plan: Plan, height: int, width: int, turn: int
) -> tuple[int, Reply]:
    candidate.restart()
    program = candidate.program(echo=False)
    reply = plan(program, height, width, turn)
    program.run()
    return candidate.used().peak_bytes, reply
