"""Grading hostile submissions one after the other in one warm sandbox of each kind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from harness.judge.budget import Budget
from harness.judge.round import Options, grade_and_keep
from harness.problems import Problem, find_problem
from harness.remote.session import Session, Submission
from harness.results import Result
from harness.sandbox.base import MIB, Sandbox, Spec
from tests.hostile.attacks import HERE

BUDGET = Budget("hostile", examples=6, run_s=60.0, shrink_s=2.0, shrink=False)
OPTIONS = Options(seed=1, budget=BUDGET)


class Grader:
    """A warm sandbox and what it makes of one submission after the other."""

    def __init__(self, box: Sandbox, problem: str, pack: Path) -> None:
        self.problem: Problem = find_problem(pack, problem)
        self._box = box
        spec = Spec(preload=self.problem.needs, memory_bytes=384 * MIB)
        self.session = Session(box, spec, Submission(problem, b"", "answer.py"))

    def grade(self, source: bytes, options: Options = OPTIONS) -> Result:
        """The result of one submission, in the sandbox of the one before if it still stands."""
        self.session.take(Submission(self.problem.slug, source, "answer.py"))
        return grade_and_keep(self.problem, self.session, options, backend=self._box)


@contextlib.contextmanager
def grader_of(box: Sandbox, problem: str, pack: Path = HERE / "pack") -> Iterator[Grader]:
    """A grader whose sandbox is gone afterwards."""
    grader = Grader(box, problem, pack)
    try:
        yield grader
    finally:
        grader.session.close()
