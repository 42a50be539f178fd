"""Progress is a bar at a terminal; without one plain lines, few, and right about the time left."""

from __future__ import annotations

import fcntl
import io
import itertools
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

from harness.render.progress import with_progress
from tests.commands.running import PACK, RIGHT

COLUMNS = 80
CURSOR = re.compile("\x1b\\[\\?25[lh]")  # hidden while the bar is drawn
BAR = re.compile(r"grading  \[[#-]{36}\]  (\d+)/(\d+)(  (\d+d )?\d\d:\d\d:\d\d)? *")
SLOW_ROUND = """
import sys, time
from harness.render.progress import with_progress
time.time = iter(range(0, 10**10, 20000)).__next__  # what the bar's time left is made of
list(with_progress(iter(range(10_000)), 10_000, 0, sys.stderr))
"""


def lines(total: int, done: int, seconds_each: float) -> list[str]:
    """What is said of a round whose submissions take so long each."""
    out = io.StringIO()
    clock = itertools.count(0, seconds_each)
    left = list(range(total - done))
    assert list(with_progress(iter(left), total, done, out, clock=clock.__next__)) == left
    return out.getvalue().splitlines()


def test_a_round_is_told_in_tenths() -> None:
    assert lines(200, 0, 2.0)[:3] == [
        "grading 20 of 200, about 6 min left",
        "grading 40 of 200, about 5 min left",
        "grading 60 of 200, about 5 min left",
    ]
    assert lines(200, 0, 2.0)[-2:] == [
        "grading 180 of 200, less than a minute left",
        "grading 200 of 200",
    ]


def test_a_fast_round_says_little_and_a_slow_one_each() -> None:
    assert lines(200, 0, 0.01) == ["grading 200 of 200"]
    assert lines(3, 1, 7200.0) == ["grading 2 of 3, about 2 h left", "grading 3 of 3"]


def test_nothing_left_says_nothing() -> None:
    assert lines(200, 200, 1.0) == []


def at_a_terminal(*command: str, folder: Path) -> str:
    """What a real terminal of 80 columns is sent by a command of ours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    running = subprocess.Popen(
        [sys.executable, *command], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    sent = b""
    try:
        while some := os.read(ours, 1 << 16):
            sent += some
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    assert running.wait(timeout=60) == 0, sent
    return CURSOR.sub("", sent.decode())


def drawn(text: str) -> list[re.Match[str]]:
    """Each picture of the bar on its one line, which ends with the last one."""
    first, line_end, _ = text.partition("\r\n")
    assert line_end
    pictures = first.split("\r")
    assert pictures.pop(0) == ""
    assert max(map(len, pictures)) < COLUMNS
    found = [BAR.fullmatch(picture) for picture in pictures]
    assert all(found), pictures
    return [one for one in found if one]


def test_a_bar_is_drawn_in_place_and_never_wraps(tmp_path: Path) -> None:
    text = at_a_terminal("-c", SLOW_ROUND, folder=tmp_path)
    pictures = drawn(text)
    assert text.count("\n") == 1
    assert text.endswith("\r\n")
    assert pictures[0].group(1, 2) == ("0", "10000")
    assert pictures[-1].group(1, 2) == ("10000", "10000")
    assert max(len(picture[4] or "") for picture in pictures) == len("1000d ")


def test_a_round_at_a_terminal_has_a_bar_and_one_with_nothing_left_has_none(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("ada", "bob", "zoe"):
        (tmp_path / "in" / f"{name}__tally.py").write_text(RIGHT)
    grade = ["-m", "harness", "--pack", str(PACK), "grade", "in", "--out", "out"]
    grade += ["--backend", "local", "--seed", "5"]
    found, _, rest = at_a_terminal(*grade, folder=tmp_path).partition("3 tally\r\n")
    assert "submissions" in found
    assert [one.group(1, 2) for one in drawn(rest)] == [(f"{n}", "3") for n in range(4)]
    again = at_a_terminal(*grade, folder=tmp_path)
    assert again.endswith("3 of 3 graded. Seed 5.\r\nNext: out/index.html\r\n")
    assert "grading" not in again
