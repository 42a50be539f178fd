"""Which judge a sandbox belongs to, and whether that judge still lives."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def mark() -> tuple[str, str, str]:
    """This process: its space of process numbers, its number in it, and when it started."""
    return _space(), str(os.getpid()), _started(os.getpid())


def is_gone(space: str, pid: str, started: str) -> bool:
    """Whether a marked process ran here and is gone; a later one may have the same number."""
    return space == _space() and _started(int(pid)) != started


def _space() -> str:
    return str(os.stat("/proc/self/ns/pid").st_ino) if sys.platform == "linux" else sys.platform


def _started(pid: int) -> str:
    """When a process started, in the kernel's ticks; "gone" when there is no such process."""
    if sys.platform == "linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return "gone"
        return fields[19] if fields[0] != "Z" else "gone"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "gone"
    except PermissionError:
        return "another's"
    return "running"
