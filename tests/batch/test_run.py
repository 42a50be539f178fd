"""Grading many: a judge that dies takes its own submission down and no other."""

from __future__ import annotations

import multiprocessing
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.batch.entries import Entry
from harness.batch.judges import Judging, run_all
from harness.batch.run import Job
from harness.batch.store import Round, Store
from harness.problems import find_problem
from harness.sandbox.base import Ending, Running, Spec
from harness.sandbox.local import LocalSandbox

PACK = Path(__file__).parents[1] / "hostile" / "pack"
RIGHT = (PACK / "solutions" / "tally" / "reference.py").read_bytes()


class KillsItsJudge:
    """A sandbox that is the end of whoever starts it, as often as its folder has no note of it."""

    name = "local"
    image = ""

    def __init__(self, folder: Path, times: int) -> None:
        self._folder, self._times = folder, times

    def start(self, spec: Spec) -> Running:
        notes = len(list(self._folder.iterdir()))
        if notes < self._times:
            (self._folder / str(notes)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return LocalSandbox().start(spec)

    def describe(self) -> str:
        return "a sandbox that kills"


class Noted:
    """A local sandbox that writes down when it is started and ended."""

    name = "local"
    image = ""

    def __init__(self, notes: Path) -> None:
        self._notes = notes

    def start(self, spec: Spec) -> Running:
        self._note("+")
        running = LocalSandbox().start(spec)
        end = running.end

        def noted() -> Ending:
            self._note("-")
            return end()

        running.end = noted  # type: ignore[method-assign]
        return running

    def describe(self) -> str:
        return "a sandbox that is noted"

    def _note(self, what: str) -> None:
        with self._notes.open("a") as notes:
            notes.write(what)


def jobs(tmp_path: Path, deaths: int) -> list[Job]:
    """Three submissions, of which the second one's judge dies so many times."""
    problem = find_problem(PACK, "tally")
    Store(tmp_path).results.mkdir()
    notes = tmp_path / "notes"
    notes.mkdir()
    found = []
    for name in ("ada", "bob", "zoe"):
        entry = Entry(name, "tally", f"{name}.py", RIGHT)
        box = KillsItsJudge(notes, deaths) if name == "bob" else LocalSandbox()
        found.append(Job(entry, problem, Round(1, "quick", "local", "cpu"), box, tmp_path))
    return found


def levels(tmp_path: Path, deaths: int) -> dict[str, tuple[str, str]]:
    return {
        stored.candidate: (stored.result.level, stored.result.could_not_grade)
        for stored in run_all(jobs(tmp_path, deaths), 2)
    }


def test_a_judge_that_dies_once_is_started_again(tmp_path: Path) -> None:
    assert levels(tmp_path, 1) == dict.fromkeys(("ada", "bob", "zoe"), ("Strong hire", ""))
    assert {stored.candidate for stored in Store(tmp_path).all()} == {"ada", "bob", "zoe"}


def test_a_judge_that_dies_again_is_ours_and_nobodys_mark(tmp_path: Path) -> None:
    graded = levels(tmp_path, 2)
    assert graded.pop("bob") == ("No signal", "the judge was ended (-9), 2 times")
    assert graded == dict.fromkeys(("ada", "zoe"), ("Strong hire", ""))
    assert {stored.candidate for stored in Store(tmp_path).all()} == {"ada", "zoe"}


@pytest.mark.parametrize(
    ("device", "notes"), [("cpu", "++-+-+-+--"), ("cuda", "+-+-+-+-+-")], ids=["cpu", "cuda"]
)
def test_the_next_sandbox_starts_while_a_submission_is_judged(
    tmp_path: Path, device: str, notes: str
) -> None:
    """One ahead, no more; a GPU is nobody's but the one's at work."""
    problem = find_problem(PACK, "tally")
    Store(tmp_path).results.mkdir()
    five = [
        Job(Entry(name, "tally", f"{name}.py", RIGHT), problem, Round(1, "quick", "local", device),
            Noted(tmp_path / "notes"), tmp_path)
        for name in "abcde"
    ]  # fmt: skip
    assert [stored.result.level for stored in run_all(five, 1)] == ["Strong hire"] * 5
    assert (tmp_path / "notes").read_text() == notes


def test_a_round_that_is_stopped_ends_its_judges(tmp_path: Path) -> None:
    homes = tmp_path / "homes"
    homes.mkdir()
    for name in ("ada", "bob"):
        (homes / f"{name}__tally.py").write_text("import time\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "harness", "--pack", str(PACK), "grade", str(homes)]
    command += ["--out", str(tmp_path / "out"), "--backend", "local", "--jobs", "2"]
    round_of_two = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(3)
    round_of_two.send_signal(signal.SIGTERM)
    _, errors = round_of_two.communicate(timeout=30)
    assert round_of_two.returncode == 3
    assert errors.splitlines()[-1] == "stopped by hand: not graded"
    assert "Traceback" not in errors
    assert processes_of_session(round_of_two.pid) == []


STOPPED_AT_A_START = """
import os, signal, sys
from harness.stopped import on_signals, stop
from tests.batch.test_run import jobs, run_all, Path

def seen(frame, event, _):
    if event == "return" and frame.f_code.co_name == "_start":
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGTERM)

on_signals(stop)
sys.setprofile(seen)
try:
    list(run_all(jobs(Path({place!r}), 0), 1))
except KeyboardInterrupt:
    print("stopped")
"""


def test_a_stop_that_comes_while_a_judge_is_started_ends_it(tmp_path: Path) -> None:
    """It knew of no stop and nobody of it: the round waited for it, and it for its turn."""
    code = STOPPED_AT_A_START.format(place=str(tmp_path))
    run = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        said, _ = run.communicate(timeout=30)
        assert (run.returncode, said) == (0, "stopped\n")
        assert processes_of_session(run.pid) == []
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)


def processes_of_session(leader: int) -> list[str]:
    """What still runs in a session; a moment is given to what is ending."""
    deadline = time.monotonic() + 5
    while True:
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == leader and fields[0] != "Z":
                found.append(entry.name)
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


def test_a_judge_that_dies_while_it_tells_its_result_has_told_none(tmp_path: Path) -> None:
    fork = multiprocessing.get_context("fork")
    job = jobs(tmp_path, 0)[0]
    for said in (b"", struct.pack("!i", 100), struct.pack("!i", 100) + b"x", b"\0\0\0\1\xc1"):
        heard, says = fork.Pipe(duplex=False)
        _, turn = fork.Pipe(duplex=False)
        process = fork.Process(target=os.write, args=(says.fileno(), said))
        process.start()
        says.close()
        assert Judging(job, 0, process, heard, turn).said() is None
