"""What a folder remembers: kept under two shells at once; broken it is empty."""

from __future__ import annotations

import threading

import msgspec
import pytest

from harness import journal
from tests.commands import running
from tests.results_made import broke, held, result_of

RESULT = result_of(held(), broke())
BROKEN = {
    "empty": b"",
    "truncated": b'{"version": 1, "last": "cou',
    "another version": b'{"version": 2, "last": "counter"}',
    "foreign": b'{"attempts": []}',
    "no text": b"\xff\xfe\x00",
    "no JSON": b"hello",
    "deep": b"[" * 100_000,
}


def test_many_shells_at_once_lose_no_check(tmp_path):
    def shell(number: int) -> None:
        for at in range(10):
            assert journal.note_result(tmp_path, "counter", "counter.py", RESULT, number * 10 + at)

    shells = [threading.Thread(target=shell, args=(number,)) for number in range(8)]
    for thread in shells:
        thread.start()
    for thread in shells:
        thread.join()
    checks = journal.read(tmp_path).attempt("counter").checks
    assert sorted(checked.at for checked in checks) == list(range(80))
    assert [path.name for path in tmp_path.iterdir()] == [journal.NAME]


@pytest.mark.parametrize("raw", BROKEN.values(), ids=BROKEN)
def test_a_broken_journal_is_an_empty_one_and_is_written_anew(tmp_path, raw):
    (tmp_path / journal.NAME).write_bytes(raw)
    assert journal.read(tmp_path) == journal.Journal()
    assert journal.note_result(tmp_path, "counter", "counter.py", RESULT, 7.0)
    assert [c.at for c in journal.read(tmp_path).attempt("counter").checks] == [7.0]


def test_a_folder_in_its_place_is_no_error(tmp_path):
    (tmp_path / journal.NAME).mkdir()
    assert journal.read(tmp_path) == journal.Journal()
    assert not journal.update(tmp_path, "counter", hints=1)
    assert [path.name for path in tmp_path.iterdir()] == [journal.NAME]


def test_two_problems_in_one_folder_are_kept_apart(tmp_path):
    journal.update(tmp_path, "one", hints=2)
    journal.update(tmp_path, "other", hints=1)
    kept = journal.read(tmp_path)
    assert (kept.last, kept.attempt("one").hints, kept.attempt("other").hints) == ("other", 2, 1)


def test_a_folder_of_a_strangers_is_read_and_not_obeyed(tmp_path):
    bad = "x\x1b]0;owned\x07\u202e"
    checks = [{"at": 1.0, "held": [bad], "broke": [bad]}]
    cases = [{"check": bad, "imports": [], "script": [], "wanted": bad, "got": ""}]
    attempt = {"file": "tally.py", "checks": checks, "cases": cases}
    raw = msgspec.json.encode({"version": 1, "last": "tally", "attempts": {"tally": attempt}})
    (tmp_path / ".harness.json").write_bytes(raw)
    for arguments in (["status"], ["replay", "nothing"]):
        _, out, err = running.harness(*arguments, folder=tmp_path)
        assert "\\x1b]0;owned\\x07\\u202e" in out + err
