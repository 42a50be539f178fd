"""What a whole check costs: plain pytest, local worker, a save while watched, Docker.

Whole processes, in turn, several rounds; medians and ratios against plain pytest of the same run.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from bench.in_process import plain_pytest

SLUG = "paged_allocator"
FILE = f"solutions/{SLUG}/reference.py"
ROUNDS = 5
CHECK = [sys.executable, "-m", "harness", "check", SLUG, FILE, "--brief"]

OPENED = f"""
import time; from pathlib import Path
from harness.problems import default_pack, find_problem
from harness.judge.ahead import draw_ahead
from harness.judge.round import Options, grade_and_keep, open_session
from harness.sandbox.docker import DockerSandbox
from harness.sandbox.local import LocalSandbox
problem, source = find_problem(default_pack(), {SLUG!r}), Path({FILE!r}).read_bytes()
def check(box, options):
    session = open_session(problem, source, {FILE!r}, box)
    session.wait_until_ready()
    start = time.perf_counter()
    result = grade_and_keep(problem, session, options, backend=box)
    print(time.perf_counter() - start)
    assert result.level == "Strong hire", result.reasons
    session.close()
"""
AHEAD = f"{OPENED}\ncheck(DockerSandbox(), Options())"
SAVE = f"{OPENED}\ncheck(LocalSandbox(), Options(ahead=draw_ahead(problem, Options()).again()))"


def main() -> None:
    """Print the table."""
    rows: dict[str, list[str]] = {
        "plain pytest, one process": plain_pytest(SLUG, FILE),
        "harness check, local": CHECK,
        "python -c 'import click'": [sys.executable, "-c", "import click"],
        "harness --help": [sys.executable, "-m", "harness", "--help"],
    }
    if "--docker" in sys.argv:
        rows["harness check, Docker cold"] = [*CHECK, "--backend", "docker"]
    timed: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(ROUNDS):
        for name, command in rows.items():
            timed[name].append(_seconds(command))
        timed.setdefault("a save under harness watch", []).append(_inside(SAVE))
        if "--docker" in sys.argv:
            timed.setdefault("harness check, Docker started ahead", []).append(_inside(AHEAD))
    bases = {"harness --help": "python -c 'import click'"}
    for name, values in timed.items():
        base = bases.get(name, "plain pytest, one process")
        ratio = statistics.median(v / b for v, b in zip(values, timed[base], strict=True))
        print(f"{name:38} {statistics.median(values):7.2f} s   {ratio:6.2f} x {base}")


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        sys.exit(
            f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout.decode()[-2000:]}"
        )
    return time.perf_counter() - start


def _inside(code: str) -> float:
    """What a process of its own says that a part of its work took."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    return float(done.stdout)


if __name__ == "__main__":
    main()
