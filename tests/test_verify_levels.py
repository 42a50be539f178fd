"""A wrong answer's verdict is held to its mistake: one that an edge case names is a Hire."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.authoring.verify import LEVELS, jobs, run
from harness.problems import find_problem
from tests.packs import make_pack

EDGE, ZERO = "it-refuses-to-go-down", "nothing-added-changes-nothing"
WRONG = """\
[[wrong]]
name = "it"
caught_by = "it-refuses-to-go-down"
mistake = "m"
levels = {levels}
edits = [ {{ find = "by < 0", replace = "{instead}" }} ]
"""


@pytest.mark.parametrize(
    ("instead", "levels", "complaint"),
    [
        # the one edge case there is, so more than half of them
        ("False", '["No hire"]', ""),
        ("False", "[]", f"seed 0: No hire, not Hire: it breaks {EDGE}"),
        ("by == 0", "[]", f"seed 0: No hire, not Hire: it breaks {ZERO}, {EDGE}"),
        ("by == 0", '["No hire"]', ""),
        ("by == 0", '["Hire"]', f"seed 0: No hire, not Hire: it breaks {ZERO}, {EDGE}"),
        ("by < -5 or by < 0", "[]", f"seed 0: not caught by {EDGE}"),
    ],
)  # fmt: skip
def test_one_mistake_is_charged_as_one(
    tmp_path: Path, instead: str, levels: str, complaint: str
) -> None:
    pack = make_pack(tmp_path)
    wrong = WRONG.format(levels=levels, instead=instead)
    (pack / "solutions/counter/wrong.toml").write_text(wrong, encoding="utf-8")
    (pack / "problems/counter/stub.py").write_text("", encoding="utf-8")
    todo = jobs(find_problem(pack, "counter"), LEVELS)
    assert [job.seed for job in todo] == [0, 1, 2]
    _, found = run(todo[0])
    assert (found.words if found else "") == complaint
