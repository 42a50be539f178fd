"""Progress without a terminal is plain lines, few, and right about the time left."""

from __future__ import annotations

import io
import itertools

from harness.render.progress import with_progress


def lines(total: int, done: int, seconds_each: float) -> list[str]:
    """What is said of a round whose submissions take so long each."""
    out = io.StringIO()
    clock = itertools.count(0, seconds_each)
    left = list(range(total - done))
    assert list(with_progress(iter(left), total, done, out, clock=clock.__next__)) == left
    return out.getvalue().splitlines()


def test_a_round_is_told_in_tenths() -> None:
    assert lines(200, 0, 2.0)[:3] == [
        "grading 20 of 200, about 6 min left",
        "grading 40 of 200, about 5 min left",
        "grading 60 of 200, about 5 min left",
    ]
    assert lines(200, 0, 2.0)[-2:] == [
        "grading 180 of 200, less than a minute left",
        "grading 200 of 200",
    ]


def test_a_fast_round_says_little_and_a_slow_one_each() -> None:
    assert lines(200, 0, 0.01) == ["grading 200 of 200"]
    assert lines(3, 1, 7200.0) == ["grading 2 of 3, about 2 h left", "grading 3 of 3"]


def test_nothing_left_says_nothing() -> None:
    assert lines(200, 200, 1.0) == []
