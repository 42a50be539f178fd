"""Kills real rounds at random moments, goes on with them, and compares with an unbroken one.

`python -m tests.kill_rounds --times 50` is the long form, tests/batch/test_killed_rounds.py the
short one. With `--backend docker` no container may be left either; under `unshare --pid --fork
--mount-proc` no other user of the engine is taken for one of these rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness.sandbox import engine, judges

PACK = Path(__file__).parent / "hostile" / "pack"
RIGHT = (PACK / "solutions" / "tally" / "reference.py").read_text()
SUBMISSIONS = {
    "ada": RIGHT,
    "bob": RIGHT.replace("sum(numbers)", "sum(numbers) - (len(numbers) > 2)"),
    "eve": "import os\nos._exit(3)\n",
    "kim": "import time\ntime.sleep(0.3)\n" + RIGHT,
    "pat": "def total(numbers):\n    raise MemoryError\n",
    "zoe": "import subprocess\nsubprocess.Popen(['sleep', '99'])\n" + RIGHT,
}
KILLS = ("SIGINT", "SIGTERM", "SIGKILL", "the whole group", "a judge")
ROUND_LIMIT_S = 120
GONE_LIMIT_S = 10


def main() -> None:
    """Break so many rounds; say how each was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--first", type=int, default=0, help="the number of the first round")
    parser.add_argument("--backend", choices=["local", "docker"], default="local")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rounds = Rounds(Path(folder), asked.backend)
        for number in range(asked.first, asked.first + asked.times):
            print(f"{number}: {', '.join(rounds.break_one(number))}: equal", flush=True)


class Rounds:
    """A folder with submissions, what an unbroken round says of them, and rounds to break."""

    def __init__(self, folder: Path, backend: str = "local") -> None:
        self._folder = folder
        self._backend = backend
        for name in ("in", "temporary"):
            (folder / name).mkdir()
        for name, source in SUBMISSIONS.items():
            for number in (1, 2):
                (folder / "in" / f"{name}{number}__tally.py").write_text(f"{source}\n# {number}\n")
        started = time.monotonic()
        self._whole = self._results_of_whole_round()
        self._longest_s = time.monotonic() - started  # before a kill

    def break_one(self, number: int) -> list[str]:
        """Kill a round a few times, finish it, hold it to the unbroken one; how it was killed."""
        chance = random.Random(number)
        out = self._folder / str(number)
        told = []
        for _ in range(chance.randint(1, 4)):
            kill, after = chance.choice(KILLS), chance.uniform(0.05, self._longest_s)
            running = self._start(out)
            time.sleep(after)
            ended = running.poll() is not None
            self._kill(running, kill, chance)
            errors = running.communicate(timeout=ROUND_LIMIT_S)[1]
            assert "Traceback" not in errors, errors
            self._nothing_runs()
            there = len(list((out / "results").glob("*.json")))
            told.append(f"{'over before ' if ended else ''}{kill} at {after:.2f} s, {there} there")
        finishing = self._start(out)
        errors = finishing.communicate(timeout=ROUND_LIMIT_S)[1]
        assert finishing.returncode == 0, errors
        self._nothing_runs()
        assert results_in(out) == self._whole
        if self._backend == "docker":
            assert orphans() == []
        left = [path.name for path in out.rglob("*") if path.name.startswith(".new-")]
        assert left == [], left
        return told

    def _results_of_whole_round(self) -> dict[str, str]:
        running = self._start(self._folder / "whole")
        errors = running.communicate(timeout=ROUND_LIMIT_S)[1]
        assert running.returncode == 0, errors
        self._nothing_runs()
        return results_in(self._folder / "whole")

    def _start(self, out: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "harness", "--pack", str(PACK), "grade"]
        command += [str(self._folder / "in"), "--out", str(out), "--backend", self._backend]
        command += ["--seed", "5", "--jobs", "2"]
        return subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True, env=os.environ | {"TMPDIR": str(self._temporary)},
        )  # fmt: skip

    @property
    def _temporary(self) -> Path:
        return self._folder / "temporary"

    def _kill(self, running: subprocess.Popen[str], kill: str, chance: random.Random) -> None:
        if running.poll() is not None:
            return
        if kill == "the whole group":
            os.killpg(running.pid, signal.SIGKILL)
        elif kill == "a judge":
            judges = children_of(running.pid)
            if judges:
                os.kill(chance.choice(judges), signal.SIGKILL)
        else:
            running.send_signal(signal.Signals[kill])

    def _nothing_runs(self) -> None:
        """No process that the round started; its temporary folders go at the next start at last."""
        deadline = time.monotonic() + GONE_LIMIT_S
        while left := users_of(self._temporary):
            assert time.monotonic() < deadline, left
            time.sleep(0.05)


def results_in(out: Path) -> dict[str, str]:
    """The results of a round by file, without times and without how often ours failed."""
    found = {}
    for path in sorted((out / "results").glob("*.json")):
        stored = json.loads(path.read_text())
        run = stored["result"]["run"]
        run["started"] = run["seconds"] = None
        for check in stored["result"]["checks"]:
            check["seconds"] = None
        found[path.name] = json.dumps(stored, indent=1)
    return found


def orphans() -> list[str]:
    """The containers of judges that have ended."""
    with contextlib.closing(engine.connect()) as client:
        found = client.containers(all=True, filters={"label": engine.JUDGE_LABEL})
    marks = [(one["Id"], one["Labels"][engine.JUDGE_LABEL].rsplit(" ", 3)[1:]) for one in found]
    return [ident for ident, mark in marks if judges.is_gone(*mark)]


def children_of(pid: int) -> list[int]:
    """The processes that one started and that live."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in children.split()]


def users_of(folder: Path) -> list[str]:
    """The processes whose temporary folder is this one, or in it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"TMPDIR={folder}".encode() in (entry / "environ").read_bytes():
                found.append(f"{entry.name} {(entry / 'cmdline').read_bytes()!r}")
        except OSError:
            continue
    return found


if __name__ == "__main__":
    main()
