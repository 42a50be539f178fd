"""Grade many mixed submissions one after the other: `python -m tests.soak [COUNT] [--backend B]`.

Right answers, plain mistakes and the hostile ones of tests/hostile, each in a sandbox of its own as
in a real round. Memory, descriptors, threads, processes, folders and containers have to be as flat
at the end as after the first fifty.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import resource
import sys
import time
from collections import Counter
from pathlib import Path

from harness.remote import session as session_module
from harness.sandbox.base import Sandbox
from harness.sandbox.docker import DockerSandbox
from harness.sandbox.local import LocalSandbox
from tests.hostile.attacks import ATTACKS, HERE, Attack
from tests.hostile.grading import grader_of
from tests.sandbox.conftest import left_behind

WARM_UP = 50
MAX_GROWTH_MIB = 48
RIGHT = (HERE / "pack" / "solutions" / "tally" / "reference.py").read_bytes()
WRONG = RIGHT.replace(b"    return 5\n", b"    return 6\n")
PAGE = resource.getpagesize()


def main() -> None:
    """Grade, look now and then, and exit with 1 when something grew or was judged otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=500)
    parser.add_argument("--backend", choices=["local", "docker"], default="docker")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    session_module.IMPORT_LIMIT_S = 1.0
    box: Sandbox = DockerSandbox() if asked.backend == "docker" else LocalSandbox()
    mixed = random.Random(asked.seed)
    attacks = [a for a in ATTACKS if asked.backend in a.backends and a.problem == "tally"]
    before = left_behind()
    levels: Counter[str] = Counter()
    surprises: list[str] = []
    warm_mib, started = 0, time.monotonic()
    for number in range(1, asked.count + 1):
        what, source, wanted = pick(mixed, attacks)
        with grader_of(box, "tally") as grader:
            result = grader.grade(source)
        levels[result.level] += 1
        if result.level != wanted:
            surprises.append(f"{what}: {result.level}, wanted {wanted} {result.could_not_grade}")
        if number == min(WARM_UP, asked.count):
            warm_mib = resident_mib()
        if number % 50 == 0:
            print(f"  {number:5}  {resident_mib()} MiB, {descriptors()} descriptors", flush=True)
    grown = resident_mib() - warm_mib
    after = left_behind()
    left = {key: value for key, value in after.items() if value != before[key]}
    print(f"{asked.count} submissions ({asked.backend}) in {time.monotonic() - started:.0f} s")
    print(f"  levels: {', '.join(f'{count} {level}' for level, count in levels.most_common())}")
    print(f"  resident memory grew by {grown} MiB after the first {WARM_UP}; left behind: {left}")
    for line in surprises:
        print(f"  judged otherwise: {line}")
    sys.exit(1 if surprises or left or grown > MAX_GROWTH_MIB else 0)


def pick(mixed: random.Random, attacks: list[Attack]) -> tuple[str, bytes, str]:
    """A submission: its name, its text, and the level that it deserves."""
    which = mixed.random()
    if which < 0.3:
        return "right", RIGHT, "Strong hire"
    if which < 0.5:
        return "wrong", WRONG, "No hire"
    attack = mixed.choice(attacks)
    return attack.name, attack.source(), attack.level


def resident_mib() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE // 1024 // 1024


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


if __name__ == "__main__":
    main()
