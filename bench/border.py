"""What one call through the border costs, against a bare socket ping of the same bytes."""

from __future__ import annotations

import os
import socket
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from harness.remote.session import Session, Submission
from harness.sandbox.base import Sandbox, Spec
from harness.sandbox.local import LocalSandbox
from harness.suite.candidate import Candidate

SOURCE = b"class Counter:\n    n = 7\n\ndef f(x):\n    return x\n"
ROUNDS = 7
CALLS = 2_000


def main() -> None:
    """Print a table: median of several rounds, each round of every row in turn."""
    rows: dict[str, Callable[[], float]] = {"bare socket ping, 250 bytes": ping}
    sessions = []
    for sandbox in _sandboxes():
        session = Session(sandbox, Spec(), Submission("m", SOURCE, "m.py"))
        session.fork()
        sessions.append(session)
        candidate = Candidate(session)
        rows[f"one call, {sandbox.name}"] = lambda c=candidate: one_by_one(c)
        rows[f"one of 30 calls in one trip, {sandbox.name}"] = lambda c=candidate: together(c)
    timed = {name: [] for name in rows}
    for _ in range(ROUNDS):
        for name, measure in rows.items():
            timed[name].append(measure())
    bare = statistics.median(timed["bare socket ping, 250 bytes"])
    for name, values in timed.items():
        middle = statistics.median(values)
        print(f"{name:38} {middle * 1e6:8.1f} us   {middle / bare:6.2f} x ping")
    for session in sessions:
        session.close()


def _sandboxes() -> list[Sandbox]:
    if "--docker" not in sys.argv:
        return [LocalSandbox()]
    from harness.sandbox.docker import DockerSandbox

    return [LocalSandbox(), DockerSandbox()]


def ping() -> float:
    """Seconds a round trip between two processes over a socket pair."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        while data := theirs.recv(4096):
            theirs.sendall(data)
        os._exit(0)
    theirs.close()
    message = bytes(250)
    start = time.perf_counter()
    for _ in range(CALLS):
        ours.sendall(message)
        ours.recv(4096)
    seconds = (time.perf_counter() - start) / CALLS
    ours.close()
    os.waitpid(child, 0)
    return seconds


def one_by_one(candidate: Candidate) -> float:
    candidate.begin_example()
    start = time.perf_counter()
    for _ in range(CALLS):
        candidate.f(1)
    return (time.perf_counter() - start) / CALLS


def together(candidate: Candidate) -> float:
    candidate.begin_example()
    start = time.perf_counter()
    for _ in range(CALLS // 30):
        program = candidate.program()
        for _ in range(30):
            program.f(1)
        program.run()
    return (time.perf_counter() - start) / (CALLS // 30 * 30)


if __name__ == "__main__":
    assert Path("harness").is_dir(), "run it from the project's folder"
    main()
