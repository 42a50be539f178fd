"""Ending a candidate's process together with everything it started, and keeping it in its place."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
CAPABILITY_VERSION = 0x20080522
LAST_CAPABILITY = 63
KILL_ROUNDS = 2000
OOM_COUNTERS = (
    Path("/sys/fs/cgroup/memory.events"),  # cgroup v2
    Path("/sys/fs/cgroup/memory/memory.oom_control"),  # cgroup v1
)


def adopt_orphans() -> None:
    """Become the parent of every descendant left behind; keep siblings out of this memory."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def die_with_parent() -> None:
    """Ask the kernel to end this process when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def give_up_privileges() -> None:
    """Hold none, now and in whatever is run later: a root of its own namespace can read memory."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        for capability in range(LAST_CAPABILITY + 1):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        header, none = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
        libc.capset(header, none)


def end_all(pid: int) -> int:
    """Kill `pid` and its descendants; return `pid`'s wait status once none is left.

    Orphans come back to this process as children, so rounds of kill and wait reach those that
    changed their session or forked twice.
    """
    status = 0
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    for _ in range(KILL_ROUNDS):
        for child in _children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        try:
            ended, ended_status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if ended == pid:
            status = ended_status
        if not ended:
            time.sleep(0.0005)
    return status


def _children() -> list[int]:
    if sys.platform != "linux":
        return []
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    try:
        return [int(child) for child in path.read_text().split()]
    except OSError:
        return _children_by_stat()


def _children_by_stat() -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            after_name = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if int(after_name[1]) == os.getpid():
                found.append(int(entry.name))
    return found


def oom_kills() -> int:
    """How often the memory limit of this control group has killed a process."""
    for path in OOM_COUNTERS:
        with contextlib.suppress(OSError):
            for line in path.read_text().splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    return 0
