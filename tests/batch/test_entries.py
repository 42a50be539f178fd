"""Finding submissions in a folder of strangers' files."""

from __future__ import annotations

import gzip
import io
import os
import struct
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from harness.batch.archives import MAX_MEMBERS
from harness.batch.entries import find_entries
from harness.batch.store import Store, Stored
from tests.results_made import held, result_of

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


def test_an_archive_that_is_only_an_ending_is_nobodys(tmp_path: Path) -> None:
    _archive(tmp_path / ".zip", {"rope.py": b"x = 1\n"})
    assert found(tmp_path) == ([], ["an archive without a name"])


def test_an_empty_folder_holds_nothing(tmp_path: Path) -> None:
    assert found(tmp_path) == ([], [])


def test_two_gigabytes_are_named_and_not_read(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    for path in (tmp_path / "ada" / "rope.py", tmp_path / "bob__rope.py", tmp_path / "eve.zip"):
        with path.open("wb") as file:
            file.truncate(2 << 30)
    tracemalloc.start()
    entries, why = found(tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert entries == []
    assert why == [
        f"{tmp_path / 'ada' / 'rope.py'} has 2,147,483,648 bytes",
        f"{tmp_path / 'bob__rope.py'} has 2,147,483,648 bytes",
        "an archive of more than 67,108,864 bytes",
    ]
    assert peak < 1 << 20


def test_what_is_no_file_at_the_top_of_the_folder_is_named(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "rope.py").write_text("x = 1\n")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "ada").symlink_to(outside)
    (folder / "bob__rope.py").symlink_to(outside / "rope.py")
    (folder / "eve.zip").symlink_to("/dev/zero")
    (folder / "round").symlink_to(folder)
    os.mkfifo(folder / "zoe__rope.py")
    os.mkfifo(folder / "zoe.zip")
    assert found(folder) == (
        [],
        ["a link; links are not followed"] * 4 + ["not an ordinary file"] * 2,
    )


def test_a_folder_linked_inside_of_a_candidates_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "rope.py").write_text("x = 1\n")
    (tmp_path / "in" / "ada").mkdir(parents=True)
    (tmp_path / "in" / "ada" / "more").symlink_to(tmp_path / "outside")
    assert found(tmp_path / "in") == ([], ["a link; links are not followed"])


def test_links_and_pipes_of_an_archive_are_passed_over(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "ada.tar", "w") as tar:
        for name, kind in (("rope.py", tarfile.SYMTYPE), ("paged_allocator.py", tarfile.LNKTYPE),
                           ("x/rope.py", tarfile.FIFOTYPE)):  # fmt: skip
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info)
    with zipfile.ZipFile(tmp_path / "bob.zip", "w") as archive:
        link = zipfile.ZipInfo("rope.py")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    assert found(tmp_path) == ([], [])


def test_an_unknown_problem_is_named_wherever_it_stands(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "chess.py").write_text("x = 1\n")
    (tmp_path / "ada__chess.py").write_text("x = 1\n")
    _archive(tmp_path / "bob.zip", {"chess.py": b"x = 1\n"})
    assert found(tmp_path) == (
        [],
        [
            "no problem called chess among 2",
            "no problem called chess",
            "no problem called chess among 2",
        ],
    )


def test_a_file_of_an_archive_is_text_as_any_other(tmp_path: Path) -> None:
    _archive(tmp_path / "ada.zip", {"rope.py": b"x = '\xe9'\n", "paged_allocator.py": b"\0"})
    assert found(tmp_path) == (
        [],
        ["it is not UTF-8 text: byte 5 is 0xe9", "it is a binary file"],
    )


def test_every_byte_that_a_name_can_have_is_kept_by_a_round(tmp_path: Path) -> None:
    """Whatever the file system holds can be written as a result, found again and told apart."""
    folder, store = tmp_path / "in", Store(tmp_path / "out")
    store.results.mkdir(parents=True)
    odd = [bytes([byte]) for byte in range(1, 256) if byte not in b"/."]
    odd += [b"...", b"-rf", b"=1+1", "\u202egnp".encode(), "\u65e5\u672c".encode(), b"n" * 250]
    for number, name in enumerate(odd):
        place = os.fsencode(folder) + b"/" + name
        os.makedirs(place)
        with open(place + b"/rope.py", "wb") as file:
            file.write(b"x = %d\n" % number)
    entries, puzzles = find_entries(folder, SLUGS)
    assert puzzles == []
    assert len({entry.candidate for entry in entries}) == len(entries) == len(odd)
    for entry in entries:
        result = result_of(held())
        store.put(Stored("k", entry.candidate, entry.origin, result))
        assert store.has(entry.candidate, result.problem.slug, "k")
    assert [stored.candidate for stored in store.all()] == sorted(e.candidate for e in entries)
    assert len(list(store.results.iterdir())) == len(odd)


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


def test_a_tar_that_unpacks_to_gigabytes_is_refused_early(tmp_path: Path) -> None:
    """A header of a header may be of any size, and a file passed over is unpacked as well."""
    for number, kind in enumerate((tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.CHRTYPE)):
        path = tmp_path / str(number) / "ada.tar.gz"
        path.parent.mkdir()
        header = tarfile.TarInfo("x")
        header.type, header.size = kind, 1 << 30
        with gzip.open(path, "wb", compresslevel=1) as packed:
            packed.write(header.tobuf(tarfile.GNU_FORMAT))
            for _ in range(256):
                packed.write(bytes(1 << 20))
        tracemalloc.start()
        entries, why = found(path.parent)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert entries == []
        if kind is not tarfile.CHRTYPE:  # which has no content, whatever it says
            assert why == ["headers of more than 8,192 bytes"]
        assert peak < 300 << 20


def pax(headers: bytes, body: bytes = b"") -> bytes:
    """A tar with one file, of which these headers say more."""
    more, file = tarfile.TarInfo("x"), tarfile.TarInfo("rope.py")
    more.type, more.size, file.size = tarfile.XHDTYPE, len(headers), len(body)
    parts = (more.tobuf(tarfile.USTAR_FORMAT), headers, file.tobuf(tarfile.USTAR_FORMAT), body)
    return b"".join(part + bytes(-len(part) % 512) for part in parts) + bytes(1024)


def test_a_tar_that_takes_hours_to_read_is_refused(tmp_path: Path) -> None:
    """Some Pythons try each digit of a header with all the rest; all of them join a list of holes
    by its blocks, each time anew.
    """
    holes = b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n25 GNU.sparse.realsize=9\n"
    sparse = tarfile.TarInfo("rope.py")
    sparse.type = tarfile.GNUTYPE_SPARSE
    for raw, reason in {
        pax(b"1" * (1 << 20)): "headers of more than 8,192 bytes",
        (pax(b"a" * 8000)[:9216] * 200): "headers of more than 8,192 bytes",
        pax(holes, b"1" * (32 << 20)): "a file with holes, which no answer has",
        sparse.tobuf(tarfile.GNU_FORMAT): "a file with holes, which no answer has",
    }.items():
        (tmp_path / "ada.tar").write_bytes(raw)
        assert found(tmp_path)[1][-1] == reason
    (tmp_path / "ada.tar").unlink()
    long = "d/" * 60 + "rope.py"
    _archive(tmp_path / "ada.tar.gz", {long: b"x = 1\n"})
    assert found(tmp_path) == ([("ada", "rope")], [])


def test_a_zip_that_hides_how_long_its_list_is_is_refused(tmp_path: Path) -> None:
    """Figures before the end may stand for those in it: `zipfile` takes them, however large."""
    path = tmp_path / "ada.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("rope.py", "x = 1\n")
    raw = path.read_bytes()
    start, end = raw.index(b"PK\1\2"), raw.index(b"PK\5\6")
    large = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, end - start, start)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    path.write_bytes(raw[:end] + large + locator + raw[end:])
    assert zipfile.ZipFile(path).namelist() == ["rope.py"]
    assert found(tmp_path) == (
        [],
        ["an archive that cannot be read: a zip of the kind for large files"],
    )


def test_a_zip_packed_to_unpack_without_a_limit_is_refused(tmp_path: Path) -> None:
    for number, packing in enumerate((zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2)):
        path = tmp_path / str(number) / "ada.zip"
        path.parent.mkdir()
        with zipfile.ZipFile(path, "w", packing) as archive:
            archive.writestr("rope.py", bytes(1 << 20))
        assert found(path.parent) == (
            [],
            ["an archive that cannot be read: another packing than deflate"],
        )


def test_a_zip_with_a_list_of_a_million_files_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "ada.zip"
    path.write_bytes(bytes(100) + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 40 << 20, 0, 0))
    assert found(tmp_path) == ([], ["more than 1,000 files"])


@pytest.mark.parametrize("raw", [b"", b"PK\5\6", b"\x1f\x8b", bytes(600), b"BZh9" + bytes(80)])
@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.tar.xz", "a.tar.bz2"])
def test_a_broken_archive_is_said_to_be_one(tmp_path: Path, name: str, raw: bytes) -> None:
    (tmp_path / name).write_bytes(raw)
    entries, why = found(tmp_path)
    assert entries == []
    assert all(reason.startswith("a broken archive: ") for reason in why)


def test_a_nest_of_folders_without_an_end_is_named(tmp_path: Path) -> None:
    nest = tmp_path / "ada"
    nest.mkdir()
    (tmp_path / "bob").mkdir()
    (tmp_path / "bob" / "rope.py").write_text("x = 1\n")
    (nest / Path(*["d"] * 100)).mkdir(parents=True)
    assert found(tmp_path) == ([("bob", "rope")], ["folders more than 16 deep"])


def test_more_files_than_anybody_hands_in_are_named(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    for number in range(5001):
        (tmp_path / "ada" / str(number)).touch()
    assert found(tmp_path) == ([], ["more than 5,000 files"])
