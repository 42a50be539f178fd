"""An engine that is stopped, killed, or full in the middle of a run is nobody's bad answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import PACK, RIGHT, harness
from tests.sandbox.second_engine import Engine, engine_in

SLOW = RIGHT.replace(
    "def total(numbers):", "def total(numbers):\n    import time; time.sleep(0.02)"
)
WRONG = RIGHT.replace("sum(numbers)", "sum(numbers) - (len(numbers) > 2)")
HOW = [signal.SIGTERM, signal.SIGKILL]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("engine")
    with engine_in(folder, tmp_path_factory.mktemp("wheels")) as second:
        yield second


def check(engine: Engine, folder: Path) -> tuple[int, dict[str, Any]]:
    """The exit code and the result of a whole check on this engine."""
    code, _, _ = harness(
        "check", "tally", "tally.py", "--backend", "docker", "--json", "r.json",
        folder=folder, environment={"DOCKER_HOST": engine.address},
    )  # fmt: skip
    return code, json.loads((folder / "r.json").read_text())


@pytest.mark.parametrize("how", HOW)
def test_an_engine_that_ends_in_the_middle_of_a_check(
    engine: Engine, tmp_path: Path, how: signal.Signals
) -> None:
    (tmp_path / "tally.py").write_text(SLOW)
    command = [sys.executable, "-m", "harness", "--pack", str(PACK), "check", "tally", "tally.py"]
    checking = subprocess.Popen(
        [*command, "--backend", "docker", "--json", "r.json"],
        cwd=tmp_path, env=os.environ | {"DOCKER_HOST": engine.address},
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert checking.stdout is not None
    said = [checking.stdout.readline() for _ in range(3)]  # its third line is the first check's
    engine.stop(how)
    try:
        out = "".join(said) + checking.stdout.read()
        assert checking.wait(60) == 3
    finally:
        engine.start()
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["could_not_grade"], out
    assert {c["status"] for c in result["checks"]} <= {"held", "not assessed"}
    assert result["level"] in ("No signal", "Hire")  # what held before, held
    assert "Traceback" not in out
    assert check(engine, tmp_path)[0] == 0
    assert engine.containers() == []


@pytest.mark.parametrize("how", HOW)
def test_an_engine_that_ends_in_the_middle_of_a_round(
    engine: Engine, tmp_path: Path, how: signal.Signals
) -> None:
    (tmp_path / "in").mkdir()
    for number in range(6):
        source = SLOW if number % 2 else WRONG
        (tmp_path / "in" / f"p{number}__tally.py").write_text(source)
    command = [sys.executable, "-m", "harness", "--pack", str(PACK), "grade", "in", "--out", "out"]
    grading = subprocess.Popen(
        [*command, "--jobs", "2", "--seed", "7"], cwd=tmp_path,
        env=os.environ | {"DOCKER_HOST": engine.address},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    results = tmp_path / "out" / "results"
    deadline = time.monotonic() + 60
    while len(list(results.glob("*.json"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    engine.stop(how)
    try:
        out, _ = grading.communicate(timeout=120)
    finally:
        engine.start()
    assert grading.returncode == 3, out
    assert "not graded" in out
    kept = {path.name: path.stat().st_mtime_ns for path in results.glob("*.json")}
    assert 2 <= len(kept) < 6
    environment = {"DOCKER_HOST": engine.address}
    code, _, _ = harness("grade", "in", "--out", "out", "--jobs", "2", "--seed", "7",
                         folder=tmp_path, environment=environment)  # fmt: skip
    assert code == 0
    assert {path.name: path.stat().st_mtime_ns for path in results.glob("*.json")} | kept == {
        path.name: path.stat().st_mtime_ns for path in results.glob("*.json")
    }
    levels = {p.name: json.loads(p.read_text())["result"]["level"] for p in results.glob("*.json")}
    assert levels == {f"p{n}__tally.json": "Strong hire" if n % 2 else "No hire" for n in range(6)}
    assert engine.containers() == []


def test_an_engine_whose_disk_is_full(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    (tmp_path / "tally.py").write_text(RIGHT)
    disk = tmp_path_factory.mktemp("disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1500m", "tmpfs", str(disk)], check=True)
    try:
        with engine_in(disk, tmp_path_factory.mktemp("wheels")) as small:
            assert check(small, tmp_path)[0] == 0
            fill(disk / "data" / "filler")
            code, result = check(small, tmp_path)
            assert (code, result["level"]) == (3, "No signal")
            assert "no space left on device" in result["could_not_grade"]
            (disk / "data" / "filler").unlink()
            assert check(small, tmp_path)[0] == 0
            assert small.containers() == []
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(path: Path) -> None:
    """Take all the space there is."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
