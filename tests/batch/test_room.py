"""How many submissions are graded at a time on a machine of which a part is lent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.batch.room import JUDGE_BYTES, at_once, cores, free_bytes
from harness.sandbox.base import Spec

GIB = 2**30
OWN = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine(root: Path, files: dict[str, str]) -> Path:
    """A folder that says of a machine what the kernel would."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({}, OWN),
        ({"sys/fs/cgroup/cpu.max": "max 100000\n"}, OWN),
        ({"sys/fs/cgroup/cpu.max": "100000 100000\n"}, 1),
        ({"sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
        ({"sys/fs/cgroup/cpu.max": "6400000 100000\n"}, OWN),
        ({"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
          "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, OWN),
        ({"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "100000\n",
          "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, 1),
        ({"proc/self/cgroup": "0::/system.slice/ci.service\n",
          "sys/fs/cgroup/system.slice/cpu.max": "100000 100000\n",
          "sys/fs/cgroup/system.slice/ci.service/cpu.max": "max 100000\n"}, 1),
        ({"proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n",
          "sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us": "150000\n",
          "sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us": "100000\n"}, 1),
        ({"proc/self/cgroup": "0::/../..\n"}, OWN),
    ],
)  # fmt: skip
def test_cores_are_those_that_are_lent(tmp_path: Path, files: dict[str, str], wanted: int) -> None:
    assert cores(machine(tmp_path, files)) == wanted


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({}, None),
        ({"proc/meminfo": "MemTotal:  9 kB\nMemAvailable:   2097152 kB\n"}, 2 * GIB),
        ({"proc/meminfo": "MemAvailable: 2097152 kB\n",
          "sys/fs/cgroup/memory.max": "max\n",
          "sys/fs/cgroup/memory.current": "5\n"}, 2 * GIB),
        ({"proc/meminfo": "MemAvailable: 8388608 kB\n",
          "sys/fs/cgroup/memory.max": f"{3 * GIB}\n",
          "sys/fs/cgroup/memory.current": f"{GIB}\n"}, 2 * GIB),
        ({"sys/fs/cgroup/memory.max": f"{3 * GIB}\n",
          "sys/fs/cgroup/memory.current": f"{2 * GIB}\n",
          "sys/fs/cgroup/memory.stat": f"anon 7\ninactive_file {GIB}\n"}, 2 * GIB),
        ({"sys/fs/cgroup/memory/memory.limit_in_bytes": f"{GIB}\n",
          "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{2 * GIB}\n"}, 0),
    ],
)  # fmt: skip
def test_memory_is_what_is_left_of_what_is_lent(
    tmp_path: Path, files: dict[str, str], wanted: int | None
) -> None:
    assert free_bytes(machine(tmp_path, files)) == wanted


def test_as_many_as_could_all_fill_their_memory() -> None:
    free = free_bytes()
    assert free is not None
    assert at_once([Spec(memory_bytes=1)], "cpu") == cores()
    assert at_once([Spec(memory_bytes=1), Spec(memory_bytes=free)], "cpu") == 1
    assert at_once([Spec(memory_bytes=free // 2 + JUDGE_BYTES)], "cpu") == 1
