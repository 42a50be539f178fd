"""What a user's machine may do to the command: a plain line, the right exit code, nothing lost."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.running import PACK, RIGHT, harness, said

CHECK = ("check", "tally", "answer.py", "--brief")
GRADED = "tally   Tally   1 min\n\n6 held.  Strong hire.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a right answer in it."""
    (tmp_path / "answer.py").write_text(RIGHT)
    return tmp_path


# names and files


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("an answer.py", "'an answer.py'"),
        ("two\nlines.py", r"'two\nlines.py'"),
        ("\x1b[2J\x1b]0;x\x07.py", r"'\x1b[2J\x1b]0;x\x07.py'"),
        ("::error::x.py", "::error::x.py"),
        ("$(id);`id`.py", "'$(id);`id`.py'"),
        ("caf\u00e9\u202egpj.py", r"'caf" + "\u00e9" + r"\u202egpj.py'"),
        ("-.py", "-.py"),
    ],
)
def test_a_file_of_any_name_is_graded(tmp_path: Path, name: str, shown: str) -> None:
    (tmp_path / name).write_text(RIGHT)
    code, out, errors = harness("check", "tally", "--brief", "--", name, folder=tmp_path)
    graded = f"{GRADED}Next: harness check tally {shown} --budget full\n"
    assert (code, out, errors) == (0, graded, "")


def test_a_name_that_is_no_text_is_written_out(tmp_path: Path) -> None:
    name = b"\xff\xfe.py".decode("utf-8", "surrogateescape")
    (tmp_path / name).write_text("def (")
    code, out, _ = harness("check", "tally", "--brief", name, folder=tmp_path)
    assert code == 1
    assert "6 broke." in out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("x" * 300 + ".py", " cannot be read: File name too long"),
        ("answer.py/answer.py", " does not exist\n  name the candidate's Python file"),
        ("loop", " does not exist\n  name the candidate's Python file"),
        ("/dev/zero", " is not an ordinary file\n  name the candidate's Python file"),
        ("pipe", " is not an ordinary file\n  name the candidate's Python file"),
    ],
)
def test_a_file_that_is_none_is_named(folder: Path, name: str, words: str) -> None:
    (folder / "loop").symlink_to("loop")
    subprocess.run(["mkfifo", folder / "pipe"], check=True)
    code, out, errors = harness("check", "tally", name, folder=folder)
    assert (code, out, said(errors)) == (2, "", name + words)


def test_a_file_that_may_not_be_read_is_named(folder: Path) -> None:
    (folder / "answer.py").chmod(0)
    code, out, errors = harness(*CHECK, folder=folder, unprivileged=True)
    assert (code, out) == (2, "")
    assert said(errors) == "answer.py cannot be read: Permission denied"


# places to write to


def test_a_folder_that_may_not_be_written_to_gets_no_stub(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o555)
    shutil.copytree(PACK, tmp_path / "pack")
    (tmp_path / "pack" / "problems" / "tally" / "stub.py").write_text("")
    code, _, errors = harness(
        "start", "tally", folder=tmp_path / "closed", pack=tmp_path / "pack", unprivileged=True
    )
    assert code == 2
    assert (
        said(errors) == "tally.py cannot be written here: Permission denied\n  try another folder"
    )


def test_a_folder_that_may_not_be_written_to_still_shows_the_verdict(folder: Path) -> None:
    folder.chmod(0o555)
    code, out, errors = harness(*CHECK, "--json", "r.json", folder=folder, unprivileged=True)
    folder.chmod(0o755)
    assert code == 2
    assert out.startswith(GRADED)
    assert errors == (
        "the result could not be written to r.json: Permission denied\n"
        "  the verdict above stands; name another place with --json\n"
    )


def test_a_full_disk_still_shows_the_verdict(folder: Path) -> None:
    code, out, errors = harness(*CHECK, "--json", "/dev/full", folder=folder)
    assert code == 2
    assert out.startswith(GRADED)
    assert errors == (
        "the result could not be written to /dev/full: No space left on device\n"
        "  the verdict above stands; name another place with --json\n"
    )
    assert Path("/dev/full").is_char_device()  # written to, not replaced


def test_an_old_result_survives_a_full_disk(folder: Path) -> None:
    """On a disk of its own, as small as they come."""
    program = (
        "mount -t tmpfs -o size=4k none small && echo old > small/r.json && "
        f"{sys.executable} -m harness --pack {PACK} check tally answer.py --brief "
        "--json small/r.json; echo $?; cat small/r.json; ls -A small"
    )
    (folder / "small").mkdir()
    apart = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", program]
    done = subprocess.run(apart, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(GRADED)
    assert done.stdout.endswith("\n2\nold\nr.json\n")
    assert done.stderr == (
        "the result could not be written to small/r.json: No space left on device\n"
        "  the verdict above stands; name another place with --json\n"
    )


def test_a_device_is_written_to_and_a_link_is_replaced(folder: Path) -> None:
    (folder / "kept.json").write_text("kept")
    (folder / "link.json").symlink_to("kept.json")
    assert harness(*CHECK, "--json", "link.json", folder=folder)[0] == 0
    assert (folder / "kept.json").read_text() == "kept"
    assert json.loads((folder / "link.json").read_text())["level"] == "Strong hire"
    assert harness(*CHECK, "--json", "/dev/null", folder=folder)[0] == 0
    assert Path("/dev/null").is_char_device()


# the machine


@pytest.mark.parametrize(
    "environment",
    [
        {"HOME": "/nonexistent"},
        {"HOME": ""},
        {"TMPDIR": "/nonexistent"},
        {"PYTEST_ADDOPTS": "--collect-only -k nothing", "PYTEST_PLUGINS": "nothing_like_it"},
        {"CI": "1", "GITHUB_ACTIONS": "true"},
        {"PYTHONIOENCODING": "ascii:backslashreplace", "LC_ALL": "C"},
        {"HYPOTHESIS_PROFILE": "nothing"},
    ],
    ids=lambda found: "-".join(found),
)
def test_an_odd_environment_changes_nothing(folder: Path, environment: dict[str, str]) -> None:
    code, out, errors = harness(*CHECK, folder=folder, environment=environment)
    assert (code, errors) == (0, "")
    assert out.startswith(GRADED)


def test_a_folder_of_strangers_modules_is_not_imported(folder: Path) -> None:
    for name in ("pytest", "msgspec", "click", "hypothesis", "json", "numpy", "conftest"):
        (folder / f"{name}.py").write_text("print('imported', __name__)\nraise SystemExit(0)\n")
    code, out, errors = harness(*CHECK, folder=folder)
    assert (code, errors) == (0, "")
    assert out.startswith(GRADED)


def test_an_engine_that_does_not_answer_is_named(folder: Path) -> None:
    socket = f"unix://{folder}/none.sock"
    code, out, errors = harness(
        *CHECK, "--backend", "docker", folder=folder, environment={"DOCKER_HOST": socket}
    )
    assert code == 3
    assert out.endswith("Next: sudo systemctl start docker\n")
    assert f"No signal: no Docker engine answers at {socket}." in " ".join(out.split())
    assert "Your code was not judged" in " ".join(out.split())
    assert errors == ""


def test_two_at_once_do_not_disturb_each_other(folder: Path) -> None:
    command = [sys.executable, "-m", "harness", "--pack", str(PACK), *CHECK, "--json", "r.json"]
    both = [
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for one in both:
        out, _ = one.communicate(timeout=60)
        assert one.returncode == 0
        assert out.startswith(GRADED)
    assert json.loads((folder / "r.json").read_text())["level"] == "Strong hire"
    assert sorted(path.name for path in folder.iterdir()) == ["answer.py", "r.json"]


# packs


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PACK, tmp_path / "a pack"))


@pytest.mark.parametrize(
    "broken",
    ["def (", "import nothing_like_it", "raise SystemExit(0)", "import os; os.close(1)", ""],
)
def test_a_suite_that_cannot_be_run_is_ours(folder: Path, pack: Path, broken: str) -> None:
    (pack / "graders" / "tally.py").write_text(broken + "\n")
    code, out, _ = harness(*CHECK, folder=folder, pack=pack)
    assert code == 3
    assert "broke" not in out.replace("nothing broke", "")


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("title = ", "cannot be read: Invalid value (at end of document)"),
        ('title = "T"\ntopic = "T"', "has no minutes"),
        ('title = "T"\ntopic = "T"\nminutes = "many"', "cannot be read: invalid literal"),
    ],
)
def test_a_problem_that_cannot_be_read_is_named(
    folder: Path, pack: Path, toml: str, words: str
) -> None:
    path = pack / "problems" / "tally" / "problem.toml"
    path.write_text(toml)
    code, out, errors = harness(*CHECK, folder=folder, pack=pack)
    assert (code, out) == (2, "")
    assert said(errors).startswith(f"{path} {words}")


def test_a_folder_that_is_no_pack_is_named(folder: Path) -> None:
    for command in (("list",), CHECK, ("verify",)):
        code, out, errors = harness(*command, folder=folder, pack=folder)
        assert (code, out) == (2, "")
        assert said(errors) == f"no problems in {folder}\n  a pack is a folder with problems/ in it"


def test_verify_says_what_a_problem_lacks(pack: Path, tmp_path: Path) -> None:
    code, out, errors = harness("verify", "tally", folder=tmp_path, pack=pack)
    missing = pack / "solutions" / "tally" / "wrong.toml"
    assert (code, out) == (2, "tally\n")
    assert said(errors) == f"tally has no wrong answers: {missing} is missing"
