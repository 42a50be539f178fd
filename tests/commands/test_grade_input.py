"""`harness grade` on folders as they come: each oddity a plain line, the rest is graded."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands.running import RIGHT, harness, said

GRADE = ("grade", "in", "--out", "out", "--backend", "local")


def test_what_may_not_be_read_is_named_and_the_rest_is_graded(tmp_path: Path) -> None:
    for name in ("ada", "bob", "eve"):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "tally.py").write_text(RIGHT)
    (tmp_path / "in" / "bob" / "tally.py").chmod(0)
    (tmp_path / "in" / "eve").chmod(0)
    (tmp_path / "in" / "zoe.zip").write_bytes(b"")
    (tmp_path / "in" / "zoe.zip").chmod(0)
    code, shown, _ = harness(*GRADE, folder=tmp_path, unprivileged=True)
    assert code == 0
    assert "3 not understood\n" in shown
    assert "  in/bob/tally.py: in/bob/tally.py cannot be read: Permission denied\n" in shown
    assert "  in/eve: cannot be read: Permission denied\n" in shown
    assert "Permission denied: 'in/zoe.zip'" in shown
    assert "1 of 1 graded." in shown


def test_an_empty_folder_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    code, shown, _ = harness(*GRADE, folder=tmp_path)
    assert (code, shown) == (2, "0 submissions of 0 candidates\n")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_a_file_or_closed_is_named(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("x")
    code, _, errors = harness(*GRADE, folder=tmp_path)
    assert (code, said(errors)) == (
        2,
        "in is a file\n  name the folder of submissions it is in, or a CSV of them",
    )
    (tmp_path / "in").unlink()
    (tmp_path / "in").mkdir(mode=0)
    code, _, errors = harness(*GRADE, folder=tmp_path, unprivileged=True)
    assert (code, said(errors)) == (
        2,
        "Invalid value for 'FOLDER': Path 'in' is not readable.",
    )


def test_a_result_of_another_version_is_graded_again(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ada__tally.py").write_text(RIGHT)
    assert harness(*GRADE, folder=tmp_path)[0] == 0
    kept = tmp_path / "out" / "results" / "ada__tally.json"
    document = json.loads(kept.read_bytes())
    document["result"]["version"] = 99
    kept.write_text(json.dumps(document))
    assert harness(*GRADE, folder=tmp_path)[0] == 0
    again = json.loads(kept.read_bytes())
    assert again["result"]["version"] == 1
    assert again["key"] == document["key"]
