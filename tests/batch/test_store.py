"""What lies in a folder of results: read, or named with what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.batch.store import BusyFolder, Store, Stored, file_stem
from tests.results_made import held, result_of


def test_what_cannot_be_read_is_named_and_the_rest_is_there(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.results.mkdir()
    store.put(Stored("k", "ada", "ada.py", result_of(held())))
    whole = store.path("ada", "counter").read_bytes()
    for name, raw in {
        "torn": whole[:300],
        "other": whole.replace(b'"version": 1', b'"version": 2'),
        "nameless": whole.replace(b'"candidate"', b'"somebody"'),
        "bare": b"[]",
    }.items():
        (store.results / f"{name}.json").write_bytes(raw)
    (store.results / "folder.json").mkdir()
    kept, left_out = store.sorted_out()
    assert kept == store.all() == [Stored("k", "ada", "ada.py", result_of(held()))]
    assert left_out == {
        "bare.json": "not a result of a round",
        "folder.json": "cannot be read: Is a directory",
        "nameless.json": "not a result of a round",
        "other.json": "a result of version 2; this harness reads version 1",
        "torn.json": "torn, or no result: Input data was truncated",
    }


def test_what_a_killed_writer_left_is_removed_by_the_next_run_and_a_second_run_is_refused(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path)
    store.results.mkdir()
    left = [tmp_path / ".new-1", store.results / ".new-2"]
    for path in left:
        path.write_bytes(b"half")
    with store.locked():
        assert [path for path in left if path.exists()] == []
        with pytest.raises(BusyFolder), store.locked():
            pass


def test_a_fork_that_fails_under_the_lock_is_not_another_run(tmp_path: Path) -> None:
    with pytest.raises(BlockingIOError), Store(tmp_path).locked():
        raise BlockingIOError(11, "Resource temporarily unavailable")


def test_no_two_candidates_share_a_file_where_capitals_make_no_difference() -> None:
    long = "i" * 200
    names = ["ada", "Ada", "ADA", "\u00e9", "e\u0301", "a__b", long, f"{long}i", long.upper()]
    names += [file_stem(name, "x").removesuffix("__x") for name in names]  # called as a file is
    stems = {name: file_stem(name, "rope").casefold() for name in names}
    assert len(set(stems.values())) == len(stems)
    assert stems["ada"] == "ada__rope"
    assert all(len(stem) < 240 and "/" not in stem for stem in stems.values())


def test_a_name_like_an_unfinished_files_is_not_taken_for_one(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.locked():
        store.put(Stored("k", ".new-zed", "x", result_of(held())))
    with store.locked():
        assert [stored.candidate for stored in store.all()] == [".new-zed"]
