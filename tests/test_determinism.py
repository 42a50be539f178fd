"""One file, seed and budget: one result, apart from times, whatever runs it and beside what."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import PACK, RIGHT

WRONG = RIGHT.replace("sum(numbers)", "sum(numbers) - (len(numbers) > 2)")
BUSY = "while True: pass"


def result_of(folder: Path, *arguments: str) -> dict[str, Any]:
    """The document that the whole command writes."""
    command = [sys.executable, "-m", "harness", "--pack", str(PACK), "check", "tally", "a.py"]
    done = subprocess.run(
        [*command, "--brief", "--json", "r.json", *arguments],
        cwd=folder, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads((folder / "r.json").read_text())
    return found


def comparable(result: dict[str, Any], *, backends: bool = False) -> str:
    """The document as text without times; without what names the sandbox where those differ."""
    run = result["run"]
    run["started"] = run["seconds"] = None
    for check in result["checks"]:
        check["seconds"] = None
    if backends:
        run["backend"] = run["isolation"] = run["worker"] = None
    return json.dumps(result, indent=1)


@pytest.mark.parametrize("source", [RIGHT, WRONG], ids=["right", "wrong"])
@pytest.mark.parametrize("backend", ["local", "docker"])
def test_the_same_twice_is_the_same(tmp_path: Path, backend: str, source: str) -> None:
    (tmp_path / "a.py").write_text(source)
    results = [
        comparable(result_of(tmp_path, "--backend", backend, "--seed", "7")) for _ in range(2)
    ]
    assert results[0] == results[1]


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_both_backends_give_one_result(tmp_path: Path, seed: str) -> None:
    (tmp_path / "a.py").write_text(WRONG)
    one, other = (
        comparable(result_of(tmp_path, "--backend", backend, "--seed", seed), backends=True)
        for backend in ("local", "docker")
    )
    assert one == other


def test_another_folder_and_other_hashes_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for name, seed in (("one", "1"), ("two", "2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(WRONG)
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        results.append(comparable(result_of(tmp_path / name, "--seed", "7")))
    assert results[0] == results[1]


def test_a_busy_machine_changes_no_verdict(tmp_path: Path) -> None:
    """Two busy processes a core."""
    (tmp_path / "a.py").write_text(WRONG)
    quiet = comparable(result_of(tmp_path, "--seed", "7"))
    cores = os.cpu_count() or 1
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(2 * cores)]
    try:
        assert comparable(result_of(tmp_path, "--seed", "7")) == quiet
    finally:
        for process in busy:
            process.kill()
            process.wait()
