"""Sandboxes to test, sessions in them, and the look at what they leave behind."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.remote.session import Session, Submission
from harness.sandbox import engine, local
from harness.sandbox.base import MIB, Sandbox, Spec
from harness.sandbox.docker import DockerSandbox
from harness.sandbox.local import LocalSandbox
from tests.sandbox.submissions import LEFTOVER

SETTLING_S = 3.0


@pytest.fixture(params=["local", "local-plain", "docker"])
def backend(request: pytest.FixtureRequest) -> str:
    """A sandbox's name; `local-plain` is local on a machine that refuses namespaces."""
    return str(request.param)


@pytest.fixture
def box(backend: str, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    if backend == "local-plain":
        monkeypatch.setattr(local, "_prefix", tuple)
    return DockerSandbox() if backend == "docker" else LocalSandbox()


@pytest.fixture
def session_of() -> Iterator[Callable[..., Session]]:
    """Sessions on a source; all are closed afterwards."""
    opened = []

    def open_one(box: Sandbox, source: bytes | str, **wanted: Any) -> Session:
        source = source.encode() if isinstance(source, str) else source
        wanted.setdefault("memory_bytes", 512 * MIB)
        session = Session(box, Spec(**wanted), Submission("answer", source, "answer.py"))
        opened.append(session)
        return session

    yield open_one
    for session in opened:
        session.close()


def left_behind() -> dict[str, Any]:
    """Everything that a sandbox could leave, of this process and its machine."""
    gc.collect()
    return {
        "processes": processes_here(),
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "folders": sorted(p.name for p in Path("/tmp").glob(f"harness-{os.getpid()}-*")),
        "containers": containers(),
    }


def processes_here() -> list[str]:
    """Children of this process, and processes that a submission named as left behind."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            name = (folder / "comm").read_text().strip()
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if name == LEFTOVER or parent == str(os.getpid()):
                found.append(f"{folder.name} {name}")
    return sorted(found)


def containers() -> list[str]:
    """This process's own containers."""
    client = engine.connect()
    with contextlib.closing(client):
        mine = client.containers(all=True, filters={"label": engine.JUDGE_LABEL})
        return sorted(
            one["Id"] for one in mine if f" {os.getpid()} " in one["Labels"][engine.JUDGE_LABEL]
        )


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """After the test, no process, thread, descriptor, folder or container more than before."""
    before = left_behind()
    yield
    deadline = time.monotonic() + SETTLING_S
    while left_behind() != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left_behind() == before
