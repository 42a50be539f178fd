"""A judge that goes on to the next file has let go of the answers of the last one."""

from __future__ import annotations

import gc

from harness.sandbox.local import LocalSandbox
from harness.suite.calls import Call
from tests.hostile.attacks import HERE
from tests.hostile.grading import grader_of

RIGHT = (HERE / "pack" / "solutions" / "tally" / "reference.py").read_bytes()


def calls_alive() -> int:
    gc.collect()
    return sum(type(thing) is Call for thing in gc.get_objects())


def test_no_answer_is_kept_after_a_file_was_graded() -> None:
    before = calls_alive()
    with grader_of(LocalSandbox(), "tally") as grader:
        for source in (RIGHT, RIGHT.replace(b"return 5", b"return 6")):
            grader.grade(source)
            assert calls_alive() <= before
