"""What the candidate's process and all it started have used, read from outside them.

Work handed to a helper counts like work done: everything below the warm parent is added up.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
CPU_COUNTERS = (  # of a whole control group: in nanoseconds, in microseconds
    (Path("/sys/fs/cgroup/cpuacct/cpuacct.usage"), "", 1),
    (Path("/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage"), "", 1),
    (Path("/sys/fs/cgroup/cpu.stat"), "usage_usec ", 1000),
)


@dataclass(frozen=True, slots=True)
class Relative:
    """A process below the warm parent. `waited_ns` is of its own children that have ended."""

    pid: int
    parent: int
    waited_ns: int


def cpu_ns(pid: int, *, alone: bool) -> int:
    """CPU time in nanoseconds, of which only differences mean something.

    `alone`: the control group holds this sandbox and nothing else, so that its own counter also
    has what ended without being waited for.
    """
    if alone:
        for path, key, unit in CPU_COUNTERS:
            total = _counter(path, key)
            if total is not None:
                return total * unit - time.process_time_ns()
    family = relatives()
    pids = {pid, *(one.pid for one in family)}
    return sum(map(_clock_ns, pids)) + sum(one.waited_ns for one in family)


def peak_bytes(pid: int) -> int:
    """The largest resident sizes that the living processes have had, together."""
    return sum(_high_water_bytes(one) for one in {pid, *(one.pid for one in relatives())})


def relatives() -> list[Relative]:
    """Every process below this one, ended ones that nobody has waited for among them."""
    everyone = _everyone()
    below, found = {os.getpid()}, list[Relative]()
    while True:
        more = [one for one in everyone if one.parent in below and one.pid not in below]
        if not more:
            return found
        found += more
        below |= {one.pid for one in more}


def _everyone() -> list[Relative]:
    found = []
    for name in _names_in_proc():
        with contextlib.suppress(OSError):
            after_name = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
            waited = (int(after_name[13]) + int(after_name[14])) * TICK_NS
            found.append(Relative(int(name), int(after_name[1]), waited))
    return found


def _names_in_proc() -> list[str]:
    try:
        return [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []  # no such system: the process alone is measured


def _clock_ns(pid: int) -> int:
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return 0


def _high_water_bytes(pid: int) -> int:
    """A process chooses its own name: any bytes, of which the kernel escapes the newline alone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_bytes().split(b"\n"):
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def _counter(path: Path, key: str) -> int | None:
    with contextlib.suppress(OSError):
        for line in path.read_text().splitlines():
            if line.startswith(key):
                return int(line.removeprefix(key))
    return None
