"""Exactly what the commands print, on a pack of two small problems."""

from __future__ import annotations

from pathlib import Path

from tests.commands.running import RIGHT, harness, without_times

HELD = """\
tally   Tally   1 min

  held   a total is the sum
  held   one number is its own total
  held   add gives the sum so far
  held   nothing adds up to zero
  held   the list is left as it was
  held   a text is a TypeError

  local worker (own process, network and user namespaces); practice, not
  isolated; seed 2026, budget quick, N s
  limits: 1 s a call, 60 s in all, 2,048 MiB of memory, 4 MiB of output
6 held.  Strong hire.
Next: harness check tally --budget full
"""
BROKE = """\
tally   Tally   1 min

  broke  a total is the sum
  held   one number is its own total
  held   add gives the sum so far
  held   nothing adds up to zero
  held   the list is left as it was
  held   a text is a TypeError

broke[total-is-the-sum]: a total is the sum (R1)

    total([2, 3])  # -> 6

  wanted  5
  got     6
  why     w
  asked   a

  local worker (own process, network and user namespaces); practice, not
  isolated; seed 2026, budget quick, N s
  limits: 1 s a call, 60 s in all, 2,048 MiB of memory, 4 MiB of output
5 held, 1 broke.  No hire: total-is-the-sum is a core invariant.
Next: harness explain tally total-is-the-sum
"""
BRIEF = """\
tally   Tally   1 min

  broke  a total is the sum
5 held, 1 broke.  No hire: total-is-the-sum is a core invariant.
Next: harness explain tally total-is-the-sum
"""
LIST = """\
Hostile answers
  tally   1 min  Tally
  twice   1 min  Twice

Next: harness show SLUG
"""
SHOW = """\
# Tally

## Requirements

- **R1** `total(numbers)` is their sum.
- **R2** `Tally().add(number)` returns the sum of what was added so far.
- **R3** The list is left as it was.
- **R4** A text is a TypeError.

Next: harness start tally
"""
WRONG = RIGHT.replace("    return 5\n", "    return 6\n")


def test_an_answer_that_holds(tmp_path: Path) -> None:
    (tmp_path / "tally.py").write_text(RIGHT)
    code, out, errors = harness("check", "tally", folder=tmp_path)
    assert (code, without_times(out), errors) == (0, HELD, "")


def test_an_answer_that_breaks(tmp_path: Path) -> None:
    (tmp_path / "tally.py").write_text(WRONG)
    code, out, errors = harness("check", "tally", folder=tmp_path)
    assert (code, without_times(out), errors) == (1, BROKE, "")


def test_an_answer_that_breaks_in_short(tmp_path: Path) -> None:
    (tmp_path / "tally.py").write_text(WRONG)
    assert harness("check", "tally", "--brief", folder=tmp_path) == (1, BRIEF, "")


def test_what_there_is_to_solve(tmp_path: Path) -> None:
    assert harness("list", folder=tmp_path) == (0, LIST, "")


def test_a_statement(tmp_path: Path) -> None:
    assert harness("show", "tally", folder=tmp_path) == (0, SHOW, "")


def test_nothing_is_left_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text(RIGHT)
    harness("check", "tally", "answer.py", folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["answer.py"]
