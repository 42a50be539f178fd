"""A round that is killed at any moment loses nothing: the short form of tests/kill_rounds.py."""

from __future__ import annotations

from pathlib import Path

from tests.kill_rounds import Rounds


def test_a_killed_round_goes_on_to_the_results_of_an_unbroken_one(tmp_path: Path) -> None:
    rounds = Rounds(tmp_path)
    assert len(rounds.break_one(1)) == 2
