"""Stopping a judge at any moment: one line and exit code 3; nothing left after the next start."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.sandbox import engine
from tests.commands.running import PACK, RIGHT

MOMENTS_S = [round(0.15 * step + random.Random(step).random() * 0.15, 2) for step in range(1, 11)]
BACKENDS = ("local", "docker")
SLOW = RIGHT.replace("    return 5\n", "    import time\n    time.sleep(0.5)\n    return 5\n")


def started(folder: Path, backend: str) -> subprocess.Popen[str]:
    """A judge at work on an answer that takes its time, in a temporary folder of its own."""
    (folder / "answer.py").write_text(SLOW)
    (folder / "temporary").mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "harness", "--pack", str(PACK), "check", "tally", "answer.py",
         "--backend", backend],
        cwd=folder, env=os.environ | {"TMPDIR": str(folder / "temporary")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def left_of(pid: int, folder: Path) -> list[str]:
    """Folders, processes and containers of a judge that is gone."""
    found = [path.name for path in (folder / "temporary").iterdir()]
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(folder / "temporary").encode() in (entry / "environ").read_bytes():
                found.append(f"process {entry.name}")
    with contextlib.closing(engine.connect()) as client:
        for one in client.containers(all=True, filters={"label": engine.JUDGE_LABEL}):
            if f" {pid} " in one["Labels"][engine.JUDGE_LABEL]:
                found.append(f"container {one['Id'][:12]}")
    return found


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_judge_that_is_stopped_says_so_and_leaves_nothing(
    tmp_path: Path, backend: str, number: signal.Signals
) -> None:
    for moment in MOMENTS_S[::3]:
        judge = started(tmp_path, backend)
        time.sleep(moment)
        judge.send_signal(number)
        out, errors = judge.communicate(timeout=60)
        assert "Traceback" not in out + errors
        if judge.returncode in (-number, 0):
            continue  # before it had read its first line, or after it was through
        assert judge.returncode == 3
        assert errors.splitlines()[-1] == "stopped by hand: not graded"
        assert left_of(judge.pid, tmp_path) == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_judge_that_is_killed_leaves_nothing_after_the_next_start(
    tmp_path: Path, backend: str
) -> None:
    killed = []
    for moment in MOMENTS_S[::2]:
        judge = started(tmp_path, backend)
        time.sleep(moment)
        judge.kill()
        judge.communicate(timeout=60)
        killed.append(judge.pid)
    after = started(tmp_path, backend)
    after.communicate(timeout=60)
    assert after.returncode == 0
    deadline = time.monotonic() + 5  # a worker hears at once that its judge is gone
    while any(left_of(pid, tmp_path) for pid in killed) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [left_of(pid, tmp_path) for pid in killed] == [[]] * len(killed)


def test_a_stop_inside_of_any_callback_of_pythons_is_not_lost() -> None:
    program = (
        "import os, signal, time, weakref\n"
        "from harness.stopped import on_signals, stop\n"
        "on_signals(stop)\n"
        "class Thing: pass\n"
        "thing = Thing()\n"
        "kept = weakref.ref(thing, lambda _: [os.kill(os.getpid(), signal.SIGTERM), 1])\n"
        "try:\n"
        "    del thing\n"
        "    time.sleep(20)\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("stopped\n", "")
