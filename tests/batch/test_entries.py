"""Finding submissions in a folder of strangers' files."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from harness.batch.archives import MAX_MEMBERS
from harness.batch.entries import find_entries

SLUGS = frozenset({"rope", "paged_allocator"})


def found(place: Path) -> tuple[list[tuple[str, str]], list[str]]:
    entries, puzzles = find_entries(place, SLUGS)
    return [(e.candidate, e.slug) for e in entries], [puzzle.why for puzzle in puzzles]


def test_a_folder_a_candidate(tmp_path: Path) -> None:
    for name in ("ada", "bob"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "rope.py").write_text("x = 1\n")
    (tmp_path / "bob" / "deep" / "paged_allocator.py").write_text("x = 2\n")
    assert found(tmp_path) == ([("ada", "rope"), ("bob", "paged_allocator"), ("bob", "rope")], [])


def test_flat_files(tmp_path: Path) -> None:
    (tmp_path / "ada__lovelace__rope.py").write_text("x = 1\n")
    (tmp_path / "ada__chess.py").write_text("x = 1\n")
    (tmp_path / "readme.txt").write_text("hello\n")
    entries, why = found(tmp_path)
    assert entries == [("ada__lovelace", "rope")]
    assert why == ["no problem called chess", "neither Python nor an archive"]


def test_two_files_for_one_problem_take_the_first_and_say_so(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "rope.py").write_text("x = 1\n")
    (tmp_path / "ada__rope.py").write_text("x = 2\n")
    entries, why = found(tmp_path)
    assert entries == [("ada", "rope")]
    assert why == [f"a second file for rope; {tmp_path / 'ada' / 'rope.py'} was taken"]


def test_a_csv_maps_names_to_files(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "list.csv").write_text(
        "candidate,problem,file\nada,rope,a.py\nbob,chess,a.py\neve,rope,\nzoe,rope,none.py\n"
    )
    entries, why = found(tmp_path / "list.csv")
    assert entries == [("ada", "rope")]
    assert why == [
        "no problem called chess",
        "wants the columns candidate, problem, file",
        f"{tmp_path / 'none.py'} does not exist",
    ]


@pytest.mark.parametrize("name", ["ada.zip", "ada.tar.gz"])
def test_an_archive_a_candidate(tmp_path: Path, name: str) -> None:
    _archive(tmp_path / name, {"work/rope.py": b"x = 1\n", "work/notes.md": b"hello"})
    assert found(tmp_path) == ([("ada", "rope")], ["not a Python file"])


@pytest.mark.parametrize("name", ["ada.zip", "ada.tar.gz"])
@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"../rope.py": b""}, "a file that would leave its folder: '../rope.py'"),
        ({"/etc/rope.py": b""}, "a file that would leave its folder: '/etc/rope.py'"),
        ({"rope.py": bytes(2 * 1024 * 1024)}, "'rope.py' has more than 1,048,576 bytes"),
        ({f"{i}.py": b"" for i in range(MAX_MEMBERS + 1)}, "more than 1,000 files"),
    ],
)
def test_an_unkind_archive_is_refused(
    tmp_path: Path, name: str, members: dict[str, bytes], why: str
) -> None:
    _archive(tmp_path / name, members)
    entries, reasons = found(tmp_path)
    assert entries == []
    assert reasons[-1] == why


def test_a_broken_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "ada.zip").write_bytes(b"PK\3\4 not really")
    assert found(tmp_path) == ([], ["a broken archive: File is not a zip file"])


def test_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "rope.py").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "ada" / "paged_allocator.py")
    entries, why = found(tmp_path)
    assert entries == []
    assert why == ["not an ordinary file", "a link; links are not followed"]


def test_odd_names_are_names(tmp_path: Path) -> None:
    name = "e v'l $(x)\n\x1b[31m"
    (tmp_path / name).mkdir()
    (tmp_path / name / "rope.py").write_text("x = 1\n")
    assert found(tmp_path) == ([(name, "rope")], [])


def test_an_empty_folder_holds_nothing(tmp_path: Path) -> None:
    assert found(tmp_path) == ([], [])


def _archive(path: Path, members: dict[str, bytes]) -> None:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, source in members.items():
                archive.writestr(name, source)
        return
    with tarfile.open(path, "w:gz") as tar:
        for name, source in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(source)
            tar.addfile(info, io.BytesIO(source))
