"""A round with strangers in it who want it to end badly: every other candidate has a result."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from harness.batch.store import Store
from tests.commands.running import RIGHT, harness, without_times

COMMAND = re.compile(r"^\s*::|##\[", re.MULTILINE)
ELSEWHERE = """
def total(numbers):
    exec(compile("\\n" * 100_000 + "raise ValueError('there')", __file__, "exec"))
"""
HOMES = {
    "ada": RIGHT,
    "Ada": "x = 1\n",
    ".new-zed": RIGHT,
    "::error file=a::b": RIGHT,
    "##[add-mask]x": RIGHT,
    "elsewhere": RIGHT + ELSEWHERE,
    "spaces": "def f():\n    x" + " " * 500_000 + "$\n",
    "quotes": "'\\" * 250_000,
    "nested": "(" * 100_000,
    "deep": "".join(" " * depth + "if 1:\n" for depth in range(1000)),
}
ROUND = ["grade", ".", "--out", "../round", "--backend", "local", "--seed", "7"]


def test_nobody_takes_the_round_from_the_others(tmp_path: Path) -> None:
    homes = tmp_path / "homes"
    for name, source in HOMES.items():
        (homes / name).mkdir(parents=True)
        (homes / name / "tally.py").write_text(source)
    with zipfile.ZipFile(homes / "bob.zip", "w") as archive:
        archive.writestr("ada/tally.py", RIGHT)
        archive.writestr("##[error]x", "")
    code, out, err = harness(*ROUND, folder=homes)
    assert code == 0, err
    assert not COMMAND.search(out + err)
    levels = {one.candidate: one.result.level for one in Store(tmp_path / "round").all()}
    right = {"ada", ".new-zed", "::error file=a::b", "##[add-mask]x", "bob"}
    assert set(levels) == {*HOMES, "bob"}
    assert {name for name, level in levels.items() if level == "Strong hire"} == right
    cards = tmp_path / "round" / "scorecards"
    assert len({path.name.casefold() for path in cards.iterdir()}) == len(levels)
    again = harness(*ROUND, folder=homes)
    assert (again[0], without_times(again[1])) == (0, without_times(out))
