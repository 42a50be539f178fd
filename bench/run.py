"""What a whole check costs: plain pytest, local worker, Docker cold, Docker started ahead.

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
        if "--docker" in sys.argv:
            timed.setdefault("harness check, Docker started ahead", []).append(_ahead())
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


def _ahead() -> float:
    """A whole check in a process of its own whose container was started before the clock."""
    code = (
        "import sys, time; from pathlib import Path\n"
        "from harness.problems import default_pack, find_problem\n"
        "from harness.judge.round import Options, grade, open_session\n"
        "from harness.sandbox.docker import DockerSandbox\n"
        f"problem = find_problem(default_pack(), {SLUG!r}); box = DockerSandbox()\n"
        f"session = open_session(problem, Path({FILE!r}).read_bytes(), {FILE!r}, box)\n"
        "session.wait_until_ready(); start = time.perf_counter()\n"
        "result = grade(problem, session, Options(), backend=box)\n"
        "assert result.level == 'Strong hire', result.reasons\n"
        "print(time.perf_counter() - start)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    return float(done.stdout)


if __name__ == "__main__":
    main()
