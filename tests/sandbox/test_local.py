"""The local sandbox: what it says of itself, and what a killed judge leaves running: nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.sandbox import local
from harness.sandbox.local import LocalSandbox
from tests.sandbox.submissions import LEFTOVER, PRELUDE

ROOT = Path(__file__).resolve().parents[2]
JUDGE = """
import sys
from harness.remote.session import Session, Submission
from harness.sandbox import local
from harness.sandbox.base import Spec
from harness.suite.candidate import Candidate
if sys.argv[1] == "plain":
    local._prefix = tuple
source = sys.stdin.buffer.read()
session = Session(local.LocalSandbox(), Spec(), Submission("answer", source, "answer.py"))
candidate = Candidate(session, call_limit_s=600)
candidate.ok()
print("spins", flush=True)
candidate.spin()
"""
SPINS = PRELUDE + """
def spin():
    name_process()
    if os.fork() == 0:
        os.setsid()
    while True: pass
"""  # fmt: skip


@pytest.mark.parametrize("how", ["namespaces", "plain"])
def test_no_process_outlives_a_killed_judge(how: str) -> None:
    judge = subprocess.Popen(
        [sys.executable, "-c", JUDGE, how], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert judge.stdin is not None and judge.stdout is not None
    judge.stdin.write(SPINS.encode())
    judge.stdin.close()
    assert judge.stdout.readline() == b"spins\n"
    assert waited_for(lambda count: count == 2)
    judge.kill()
    judge.wait()
    judge.stdout.close()
    assert waited_for(lambda count: count == 0)


def waited_for(condition: Callable[[int], bool]) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if condition(spinning()):
            return True
        time.sleep(0.05)
    return False


def spinning() -> int:
    names = []
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            names.append(comm.read_text().strip())
        except OSError:
            continue
    return names.count(LEFTOVER)


def test_it_says_that_it_does_not_isolate(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LocalSandbox().describe().endswith("; practice, not isolated")
    monkeypatch.setattr(local, "_prefix", tuple)
    assert LocalSandbox().describe() == ("local worker (own process group); practice, not isolated")
