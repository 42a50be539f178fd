"""What a candidate's folder remembers: when a problem was started, checks, hints, last findings.

One small file, replaced whole under a lock, so that two shells do no harm. Lost or broken, it is
empty again: nothing that is graded depends on it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from harness.results import BROKE, HELD, Result, Sitting
from harness.whole_files import write_whole

NAME = ".harness.json"
VERSION = 1
MOST_CHECKS = 200  # of one problem; older ones are forgotten


class Checked(msgspec.Struct, frozen=True):
    """One run of `check`: when, and which checks held and broke. Seconds since the epoch."""

    at: float
    held: list[str]
    broke: list[str]


class Case(msgspec.Struct, frozen=True):
    """The smallest case of a check that broke last time."""

    check: str
    imports: list[str]
    script: list[str]
    wanted: str
    got: str


class Attempt(msgspec.Struct, frozen=True):
    """One problem in this folder."""

    file: str
    started: float = 0.0  # seconds since the epoch; 0 when `start` was not used
    hints: int = 0
    checks: list[Checked] = []
    cases: list[Case] = []


class Journal(msgspec.Struct, frozen=True):
    """Everything the folder remembers. `last` is the problem checked or started last."""

    version: int = VERSION
    last: str = ""
    attempts: dict[str, Attempt] = {}

    def attempt(self, slug: str) -> Attempt:
        """What is known of a problem; an empty attempt when nothing is."""
        return self.attempts.get(slug) or Attempt(f"{slug}.py")

    def with_attempt(self, slug: str, attempt: Attempt) -> Journal:
        """The journal with this attempt in it, as the last one."""
        return Journal(VERSION, slug, {**self.attempts, slug: attempt})


def read(folder: Path) -> Journal:
    """The folder's journal; empty when it is missing, broken or of another version."""
    try:
        journal = msgspec.json.decode((folder / NAME).read_bytes(), type=Journal)
    except (OSError, msgspec.DecodeError):
        return Journal()
    return journal if journal.version == VERSION else Journal()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def update(folder: Path, slug: str, **changes: object) -> bool:
    """Change a problem's attempt and make it the last one; False where it cannot be written."""
    return _change(folder, slug, lambda attempt: msgspec.structs.replace(attempt, **changes))


def _change(folder: Path, slug: str, change: Callable[[Attempt], Attempt]) -> bool:
    """Change an attempt as it stands under the lock: what another shell noted meanwhile stays."""
    try:
        with _locked(folder):
            journal = read(folder)
            changed = change(journal.attempt(slug))
            write_whole(folder / NAME, msgspec.json.encode(journal.with_attempt(slug, changed)))
    except OSError:
        return False
    return True


def note_result(folder: Path, slug: str, file: str, result: Result, now: float) -> bool:
    """Remember how a check went, and the smallest case of everything that broke."""
    ids = {
        status: [check.id for check in result.checks if check.status == status]
        for status in (HELD, BROKE)
    }
    cases = [
        Case(c.id, c.finding.imports, c.finding.script, c.finding.wanted, c.finding.got)
        for c in result.checks
        if c.finding is not None
    ]
    checked = Checked(now, ids[HELD], ids[BROKE])

    def noted(attempt: Attempt) -> Attempt:
        checks = [*attempt.checks, checked][-MOST_CHECKS:]
        return msgspec.structs.replace(attempt, file=file, checks=checks, cases=cases)

    return _change(folder, slug, noted)


def with_sitting(folder: Path, result: Result, now: float) -> Result:
    """The result with what the folder knows of how the candidate got there."""
    attempt = read(folder).attempt(result.problem.slug)
    minutes = round((now - attempt.started) / 60, 1) if attempt.started else None
    sitting = Sitting(minutes=minutes, checks=len(attempt.checks), hints=attempt.hints)
    return msgspec.structs.replace(result, sitting=sitting)
