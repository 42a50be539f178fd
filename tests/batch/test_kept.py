"""What is graded already is not graded again, unless it would be another result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from harness.batch.entries import Entry
from harness.batch.run import key_of
from harness.batch.store import Round, Store
from harness.problems import find_problem
from harness.sandbox.docker import DockerSandbox
from tests.commands.running import PACK, RIGHT, harness, said
from tests.packs import REFERENCE, make_pack

GRADE = ("grade", "in", "--out", "out", "--backend", "local")


def kept(folder: Path) -> dict[str, int]:
    """When each result was written."""
    results = (folder / "out" / "results").glob("*.json")
    return {path.name: path.stat().st_mtime_ns for path in results}


def test_a_changed_suite_or_file_is_graded_again_and_nothing_else(tmp_path: Path) -> None:
    pack = make_pack(tmp_path / "pack")
    for part in ("problems", "solutions"):
        (pack / part / "other").mkdir()
        for path in (pack / part / "counter").iterdir():
            (pack / part / "other" / path.name).write_bytes(path.read_bytes())
    (pack / "graders" / "other.py").write_bytes((pack / "graders" / "counter.py").read_bytes())
    (tmp_path / "in").mkdir()
    for name in ("ada__counter", "ada__other", "bob__other", "zoe__other"):
        (tmp_path / "in" / f"{name}.py").write_text(REFERENCE)
    assert harness(*GRADE, folder=tmp_path, pack=pack)[0] == 0
    first, seed = kept(tmp_path), (tmp_path / "out" / "round.json").read_bytes()
    assert harness(*GRADE, folder=tmp_path, pack=pack)[0] == 0
    assert kept(tmp_path) == first
    with (pack / "graders" / "counter.py").open("a") as suite:
        suite.write("# changed\n")
    (tmp_path / "in" / "zoe__other.py").write_text(REFERENCE + "# changed\n")
    assert harness(*GRADE, folder=tmp_path, pack=pack)[0] == 0
    again = kept(tmp_path)
    assert {name for name in again if again[name] != first[name]} == {
        "ada__counter.json",
        "zoe__other.json",
    }
    assert (tmp_path / "out" / "round.json").read_bytes() == seed


def test_a_second_run_on_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ada__tally.py").write_text(RIGHT)
    with Store(tmp_path / "out").locked():
        code, _, errors = harness(*GRADE, folder=tmp_path)
    assert (code, said(errors)) == (
        2,
        "another run is writing to out\n  name another folder with --out",
    )


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ada__tally.py").write_text(RIGHT)
    (tmp_path / "out").mkdir(mode=0o500)
    code, _, errors = harness(*GRADE, folder=tmp_path, unprivileged=True)
    assert (code, said(errors)) == (
        2,
        "out cannot be written to: Permission denied\n  name another folder with --out",
    )


def test_a_full_disk_keeps_what_is_there_and_the_rest_is_graded_later(tmp_path: Path) -> None:
    """Four pages: for the settings of the round, the note of what waits, and two results."""
    (tmp_path / "in").mkdir()
    (tmp_path / "small").mkdir()
    for name in ("ada", "bob", "zoe"):
        (tmp_path / "in" / f"{name}__tally.py").write_text(RIGHT)
    again = (
        f"{sys.executable} -m harness --pack {PACK} grade in --out small/out "
        "--backend local --jobs 1"
    )
    told = f"{sys.executable} -m harness report small/out --format csv --out -"
    program = (
        f"mount -t tmpfs -o size=16k none small && {again}; echo first $?; "
        f"ls -A small/out/results; {told}; mount -o remount,size=9m small; {again}; "
        "echo second $?; ls -A small/out/results; cp small/out/round.json ."
    )
    apart = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", program]
    done = subprocess.run(apart, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr
    assert ".new-" not in done.stdout
    assert done.stdout.endswith("second 0\nada__tally.json\nbob__tally.json\nzoe__tally.json\n"), (
        done.stdout + done.stderr
    )
    assert json.loads((tmp_path / "round.json").read_text())["seed"] >= 0
    assert "first 3\nada__tally.json\nbob__tally.json\n" in done.stdout
    assert "not graded: zoe, tally: the result cannot be kept: No space left on" in done.stdout
    assert "2 of 3 graded." in done.stdout
    assert "\nzoe,tally,No signal," in done.stdout


def test_another_image_is_another_result() -> None:
    assert DockerSandbox().image.startswith("sha256:")
    assert DockerSandbox("harness-of-nobody").image == ""
    problem, entry = find_problem(PACK, "tally"), Entry("ada", "tally", "a.py", b"")
    settings = Round(1, "quick", "docker", "cpu")
    keys = {key_of(entry, problem, settings, image) for image in ("sha256:1", "sha256:2", "")}
    assert len(keys) == 3
