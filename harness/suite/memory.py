"""How memory grows: the peak of a fresh process at two sizes each way, read from outside it."""

from __future__ import annotations

from collections.abc import Callable

from harness.suite.candidate import Candidate, Program, Reply


def bytes_a_pair(
    candidate: Candidate, plan: Callable[[Program, int, int], Reply], *, small: int, large: int
) -> tuple[float, Reply]:
    """Bytes of peak memory that each pair of a row and a column costs; the reply of the largest.

    `plan(program, rows, columns)` adds the calls. Four processes run it, with each number of rows
    and of columns. What never grows cancels, and so does what grows with rows or with columns
    alone: a table of all pairs is what is left.
    """
    peaks: dict[tuple[int, int], int] = {}
    for rows in (small, large):
        for columns in (small, large):
            candidate.restart()
            program = candidate.program(echo=False)
            last = plan(program, rows, columns)
            program.run()
            peaks[rows, columns] = candidate.used().peak_bytes
    alone = peaks[small, large] + peaks[large, small] - peaks[small, small]
    return (peaks[large, large] - alone) / (large - small) ** 2, last
