"""A pack with one three-line problem, for tests that need a pack."""

from __future__ import annotations

from pathlib import Path

SETTINGS = """\
title = "Counter"
topic = "Tests"
minutes = 30

[expects]
hire = "It counts."
"""
STATEMENT = "# Counter\n\n- **R1** `up` adds.\n- **R2** It refuses to go down.\n"
REFERENCE = """\
class Counter:
    def __init__(self, start):
        self.count = start

    def up(self, by):
        if by < 0:
            raise ValueError("down")
        self.count += by
        return self.count
"""
GRADER = '''\
from harness.suite import behaviour, edge, equal, invariant, refused


@invariant("R1", why="Counts drift.", ask="What is counted?")
def test_nothing_added_changes_nothing(candidate):
    """nothing added changes nothing"""
    equal(candidate.Counter(3).up(0), 3)


@behaviour("R1", why="Counts are wrong.", ask="Where does it add?")
def test_it_adds(candidate):
    """it adds"""
    equal(candidate.Counter(1).up(2), 3)


@edge("R2", why="It runs backwards.", ask="What is refused?")
def test_it_refuses_to_go_down(candidate):
    """it refuses to go down"""
    refused(candidate.Counter(1).attempt("up", -1), "ValueError")
'''


def make_pack(folder: Path) -> Path:
    """A pack in a folder, with the problem `counter`."""
    for name in ("problems/counter", "solutions/counter", "graders"):
        (folder / name).mkdir(parents=True)
    (folder / "problems/counter/problem.toml").write_text(SETTINGS, encoding="utf-8")
    (folder / "problems/counter/statement.md").write_text(STATEMENT, encoding="utf-8")
    (folder / "solutions/counter/reference.py").write_text(REFERENCE, encoding="utf-8")
    (folder / "graders/counter.py").write_text(GRADER, encoding="utf-8")
    return folder
