"""What the machine does to a run is never a mark against the candidate, and never a pass."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.results import HELD, NOT_ASSESSED
from harness.sandbox import engine
from harness.sandbox.base import Running, Sandbox, Spec
from harness.sandbox.docker import DockerRunning, DockerSandbox
from harness.sandbox.local import LocalRunning, LocalSandbox
from tests.hostile.attacks import HERE, SUM
from tests.hostile.grading import grader_of

RIGHT = (HERE / "pack" / "solutions" / "tally" / "reference.py").read_bytes()
SLOW = RIGHT.replace(b"return attack", b"__import__('time').sleep(0.01)\n    return attack")


class Watched:
    """A sandbox that keeps what it started, so that a test can get at it."""

    def __init__(self, box: Sandbox) -> None:
        self.name = box.name
        self.started: list[Running] = []
        self._box = box

    def start(self, spec: Spec) -> Running:
        self.started.append(self._box.start(spec))
        return self.started[-1]

    def describe(self) -> str:
        return self._box.describe()

    def kill(self) -> None:
        """End the latest worker from outside, as a machine without memory does."""
        running = self.started[-1]
        if isinstance(running, LocalRunning):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running._process.pid, signal.SIGKILL)
        elif isinstance(running, DockerRunning):
            with contextlib.closing(engine.connect()) as client:
                engine.remove(client, running.ident)


@pytest.fixture(params=[LocalSandbox, DockerSandbox], ids=["local", "docker"])
def box(request: pytest.FixtureRequest) -> Watched:
    return Watched(request.param())


@contextlib.contextmanager
def killer(box: Watched, seed: int) -> Iterator[None]:
    """Kill one worker at some moment after it was started."""

    def kill() -> None:
        while not box.started:
            time.sleep(0.01)
        time.sleep(random.Random(seed).random() * 0.8)
        box.kill()

    killing = threading.Thread(target=kill)
    killing.start()
    yield
    killing.join()


@pytest.mark.parametrize("seed", range(6))
def test_a_worker_that_is_killed_once_is_replaced_and_noted(box: Watched, seed: int) -> None:
    with grader_of(box, "tally") as grader, killer(box, seed):
        result = grader.grade(SLOW)
    if result.could_not_grade:  # the engine says that somebody removed it: not the candidate
        assert {check.status for check in result.checks} <= {HELD, NOT_ASSESSED}
        return
    assert {check.status for check in result.checks} == {HELD}
    assert result.level == "Strong hire"
    assert result.run.restarts == len(box.started) - 1


def test_a_file_that_takes_its_sandbox_down_each_time_is_told_so() -> None:
    source = (HERE / "submissions" / "kills_its_parent.py").read_text()
    tools = (HERE / "tools.py").read_text()
    with grader_of(DockerSandbox(), "tally") as grader:
        result = grader.grade(f"{RIGHT.decode()}\n{tools}\n{source}".encode())
    by_id = {check.id: check for check in result.checks}
    finding = by_id.pop(SUM).finding
    assert finding is not None
    assert (finding.fault, finding.script[-1]) == (
        "crashed",
        "total([2, 3])  # it took its whole sandbox down (the stream ended)",
    )
    assert {check.status for check in by_id.values()} == {HELD}
    assert result.run.restarts == 1


def test_a_worker_without_its_own_python_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    monkeypatch.setattr("harness.sandbox.local._prefix", tuple)
    with grader_of(LocalSandbox(), "tally") as grader:
        result = grader.grade(RIGHT)
    assert result.level == "No signal"
    assert result.could_not_grade == (
        "no local worker could be started: [Errno 2] No such file or directory: "
        "'/nonexistent/python'"
    )


def test_no_place_for_temporary_files_is_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with grader_of(LocalSandbox(), "tally") as grader:
        result = grader.grade(RIGHT)
    assert (result.level, result.could_not_grade) == (
        "No signal",
        "no temporary folder can be made for a local worker: No such file or directory",
    )


def test_a_clock_that_jumps_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    jumping = iter(range(0, 10**9, 86_400))
    monkeypatch.setattr("time.time", lambda: float(next(jumping)))
    with grader_of(LocalSandbox(), "tally") as grader:
        result = grader.grade(RIGHT)
    assert result.level == "Strong hire"
