"""What has no result is told with its reason, also by a report made later, until it has one."""

from __future__ import annotations

import csv
import signal
import subprocess
import sys
import time
from pathlib import Path

from harness.batch.entries import Entry
from harness.batch.outstanding import NO_RESULT, NOT_GRADED, Outstanding, outstanding
from harness.batch.run import Job, given_up
from harness.batch.store import Round, Store
from harness.commands.shown import round_shown
from harness.problems import find_problem
from harness.sandbox.local import LocalSandbox
from tests.batch.rounds_made import graded, kept
from tests.commands.running import PACK, RIGHT, harness
from tests.results_made import held

ENGINE = "no Docker engine answers at unix:///nowhere.sock"


def hand_in(folder: Path, **sources: str) -> None:
    (folder / "in").mkdir(exist_ok=True)
    for name, source in sources.items():
        (folder / "in" / f"{name}__tally.py").write_text(source)


def reasons(folder: Path) -> dict[str, str]:
    """Why each submission of a report has no result; "" for those that have one."""
    code, out, _ = harness("report", "out", "--format", "csv", "--out", "-", folder=folder)
    assert code == 0
    return {row["candidate"]: row["could_not_grade"] for row in csv.DictReader(out.splitlines())}


def test_what_could_not_be_graded_stands_in_a_later_report(tmp_path: Path) -> None:
    hand_in(tmp_path, ada=RIGHT, bob=RIGHT)
    environment = {"DOCKER_HOST": "unix:///nowhere.sock"}
    code, out, _ = harness("grade", "in", "--out", "out", folder=tmp_path, environment=environment)
    assert code == 3
    lines = [f"not graded: {name}, tally: {ENGINE}" for name in ("ada", "bob")]
    assert sorted(line for line in out.splitlines() if "not graded" in line) == lines
    assert reasons(tmp_path) == {"ada": ENGINE, "bob": ENGINE}
    (tmp_path / "out" / "index.html").unlink()
    code, _, errors = harness("report", "out", folder=tmp_path)
    assert (code, errors.splitlines()) == (0, lines)
    assert f"Could not grade: {ENGINE}." in (tmp_path / "out" / "index.html").read_text()
    code, _, errors = harness("report", "out", "--blind", folder=tmp_path)
    assert [line.partition(", ")[0] for line in errors.splitlines()[:2]] == [
        "not graded: Candidate 01",
        "not graded: Candidate 02",
    ]
    assert "ada" not in (tmp_path / "out" / "blind" / "index.html").read_text()


def test_what_a_stopped_round_did_not_come_to_is_told_until_it_is_graded(tmp_path: Path) -> None:
    hand_in(tmp_path, ada=RIGHT, bob="import time\ntime.sleep(60)\n", zoe=RIGHT)
    grade = ["grade", "in", "--out", "out", "--backend", "local", "--jobs", "1"]
    running = subprocess.Popen(
        [sys.executable, "-m", "harness", "--pack", str(PACK), *grade],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while not (tmp_path / "out" / "results" / "ada__tally.json").exists():
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGTERM)
    assert running.wait(timeout=30) == 3
    assert reasons(tmp_path) == {"ada": "", "bob": NO_RESULT, "zoe": NO_RESULT}
    hand_in(tmp_path, bob=RIGHT)
    assert harness(*grade, folder=tmp_path)[0] == 0
    assert reasons(tmp_path) == {"ada": "", "bob": "", "zoe": ""}
    assert not (tmp_path / "out" / NOT_GRADED).exists()


def job(name: str) -> Job:
    entry = Entry(name, "tally", f"{name}.py", RIGHT.encode())
    settings = Round(1, "quick", "local", "cpu")
    return Job(entry, find_problem(PACK, "tally"), settings, LocalSandbox(), None)


def test_a_run_of_other_submissions_leaves_what_is_noted(tmp_path: Path) -> None:
    first = Outstanding(tmp_path, [("ada", "tally")], [("key", job("ada"))])
    first.hear(given_up(job("ada"), "the disk is full", ""))
    first.note()
    Outstanding(tmp_path, [("bob", "tally")], [("key", job("bob"))]).note()
    found, wrong = outstanding(tmp_path, [])
    assert [(one.candidate, one.key, one.result.could_not_grade) for one in found] == [
        ("ada", "key", "the disk is full"),
        ("bob", "key", NO_RESULT),
    ]
    assert wrong == ""


def test_a_result_of_the_same_key_is_one_and_of_another_is_not(tmp_path: Path) -> None:
    Outstanding(tmp_path, [], [("key", job(name)) for name in ("ada", "bob")]).note()
    there = [graded(name, held(), slug="tally") for name in ("ada", "bob")]
    there[1] = type(there[1])("of before", "bob", "bob.py", there[1].result)
    shown = round_shown(kept(tmp_path, there), blind=False)
    rows = {row.candidate: row.could_not_grade for row in shown.overview.submissions}
    assert rows == {"ada": "", "bob": NO_RESULT}


def test_a_torn_note_is_left_out_and_said(tmp_path: Path) -> None:
    store = kept(tmp_path, [graded("ada", held())])
    (store.folder / NOT_GRADED).write_bytes(b'[{"key": "k"')
    shown = round_shown(Store(tmp_path), blind=False)
    assert [row.candidate for row in shown.overview.submissions] == ["ada"]
    assert shown.overview.left_out == [f"{NOT_GRADED}: Input data was truncated"]
    (store.folder / NOT_GRADED).write_bytes(b'[{"key": "k"}]')
    shown = round_shown(Store(tmp_path), blind=False)
    assert shown.overview.left_out == [f"{NOT_GRADED}: not a result of a round"]
