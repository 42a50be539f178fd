"""What people mistype gets a plain error, never a traceback of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REFERENCE = Path("solutions/paged_allocator/reference.py").resolve()


def harness(*arguments: str, folder: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "harness", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, done.stdout, done.stderr


def said(errors: str) -> str:
    """The error itself, without click's usage lines."""
    return errors.partition("Error: ")[2].rstrip("\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("check", "paged_alocator"),
            "no problem called 'paged_alocator'\n  there is one with a close name: paged_allocator",
        ),
        (
            ("show", "../secret"),
            "no problem called '../secret'\n  harness list shows all of them",
        ),
        (("chek",), "no command called 'chek'\n  there is one with a close name: check"),
        (
            ("check", "paged_allocator", "none.py"),
            "none.py does not exist\n  name the candidate's Python file",
        ),
        (
            ("check", "paged_allocator"),
            "no paged_allocator.py in this folder\n"
            "  harness start paged_allocator puts the stub here",
        ),
        (("check",), "no problem named\n  harness list shows them; name one"),
        (
            ("check", "paged_allocator", "."),
            ". is a folder\n  name the candidate's file in it",
        ),
        (
            ("check", "paged_allocator", "latin.py"),
            "latin.py is not UTF-8 text: byte 4 is 0xe9\n  save it as UTF-8",
        ),
        (
            ("check", "paged_allocator", "binary.py"),
            "binary.py is a binary file\n  name the candidate's Python file",
        ),
        (
            ("check", "paged_allocator", "huge.py"),
            "huge.py has 52,428,800 bytes\n  a submission has at most 1,048,576",
        ),
        (
            ("explain", "paged_allocator", "the-copy-needs-a-free-blok"),
            "paged_allocator has no check called 'the-copy-needs-a-free-blok'\n"
            "  there is one with a close name: the-copy-needs-a-free-block",
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_a_usage_error_says_what_and_what_next(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    (tmp_path / "latin.py").write_bytes(b"# caf\xe9\n"[2:])
    (tmp_path / "latin.py").write_bytes(b"x = \xe9\n")
    (tmp_path / "binary.py").write_bytes(b"x\0y")
    (tmp_path / "huge.py").write_bytes(b"#" * 50 * 1024 * 1024)
    code, out, errors = harness(*arguments, folder=tmp_path)
    assert (code, out, said(errors)) == (2, "", words)


def test_start_never_writes_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "rope.py").write_text("mine\n")
    code, _, errors = harness("start", "rope", folder=tmp_path)
    assert code == 2
    assert (
        said(errors)
        == "rope.py is here already; it was left as it is\n  harness check rope grades it"
    )
    assert (tmp_path / "rope.py").read_text() == "mine\n"


def test_an_unknown_check_names_the_nearest(tmp_path: Path) -> None:
    code, _, errors = harness(
        "check", "paged_allocator", str(REFERENCE), "--only", "zero-tokens", folder=tmp_path
    )
    assert code == 2
    assert said(errors) == (
        "no check called zero-tokens\n  there is one with a close name: zero-tokens-take-nothing"
    )


def test_a_syntax_error_shows_its_line(tmp_path: Path) -> None:
    answer = tmp_path / "a file with spaces.py"
    answer.write_text("class OutOfBlocks(Exception):\n    pass\n\ndef broken(:\n")
    only = ("--only", "tokens-take-whole-blocks")
    code, out, _ = harness("check", "paged_allocator", answer.name, *only, folder=tmp_path)
    assert code == 1
    assert "  wanted  a file that can be imported\n" in out
    assert "  got     SyntaxError: invalid syntax, line 4\n" in out


def test_a_report_that_cannot_be_written_leaves_the_verdict(tmp_path: Path) -> None:
    only = ("--only", "zero-tokens-take-nothing", "--json", "/proc/none/result.json")
    code, out, errors = harness("check", "paged_allocator", str(REFERENCE), *only, folder=tmp_path)
    assert "1 held.  Strong hire." in out
    assert errors == (
        "the result could not be written to /proc/none/result.json: No such file or directory\n"
        "  the verdict above stands; name another place with --json\n"
    )
    assert code == 2
