"""How many submissions there is room for at a time: by cores, memory and GPUs, as this process may.

A container or a service manager lends a process part of a machine by its control group; the core
count and the free memory of the machine say nothing of that.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from harness.sandbox.base import MIB, Spec

JUDGE_BYTES = 512 * MIB  # a judge's own, on top of the pages it shares with those beside it
ROOT = Path("/")


def at_once(specs: list[Spec], device: str) -> int:
    """One submission a GPU; on CPUs one a core, as long as all could fill their memory."""
    if device == "cuda":
        import torch

        return max(1, torch.cuda.device_count())
    need = max(spec.memory_bytes for spec in specs) + JUDGE_BYTES
    free = free_bytes()
    return cores() if free is None else max(1, min(cores(), free // need))


def cores(root: Path = ROOT) -> int:
    """The cores this process may use, and the part of them that its control group is given."""
    own = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        own = len(os.sched_getaffinity(0))
    lent = [quota for folder in _groups(root) if (quota := _quota(folder)) is not None]
    return max(1, int(min([own, *lent])))


def free_bytes(root: Path = ROOT) -> int | None:
    """The memory there is, at most what the control group has left; None where nobody says it."""
    free = [left for folder in _groups(root) if (left := _left(folder)) is not None]
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = (root / "proc/meminfo").read_text().splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        free.append(int(line.split()[1]) * 1024)
    return min(free, default=None)


def _groups(root: Path) -> Iterator[Path]:
    """The folders of this process's control group and of those it is in; both versions."""
    top = root / "sys/fs/cgroup"
    yield from (top, top / "cpu", top / "memory")
    with contextlib.suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            group = top / names.removeprefix("name=").split(",")[0] / path.lstrip("/")
            while group != top and top in group.parents:
                yield group
                group = group.parent


def _quota(group: Path) -> float | None:
    """Cores; None where there is no limit."""
    quota, period = (_words(group / "cpu.max") or ["", ""])[:2]
    if not quota:
        quota = " ".join(_words(group / "cpu.cfs_quota_us"))
        period = " ".join(_words(group / "cpu.cfs_period_us"))
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None


def _left(group: Path) -> int | None:
    """Bytes; None where there is no limit."""
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        words = _words(group / limit) + _words(group / used)
        if len(words) == 2 and all(word.isdigit() for word in words):
            return max(0, int(words[0]) - int(words[1]) + _given_back(group))
    return None


def _given_back(group: Path) -> int:
    """Bytes that count as used and hold files nobody reads: they go when memory is wanted."""
    words = _words(group / "memory.stat")
    stat = dict(zip(words[::2], words[1::2], strict=False))
    return int(stat.get("total_inactive_file", stat.get("inactive_file", 0)))


def _words(path: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return path.read_text().split()
    return []
