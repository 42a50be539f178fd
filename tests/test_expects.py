"""What a panel expects at each level, in the problem's own words."""

from __future__ import annotations

import pytest

from harness.problems import BadPack, all_problems, default_pack, read_problem
from harness.scorecard import Level
from tests.packs import SETTINGS, make_pack


@pytest.fixture
def settings(tmp_path):
    return make_pack(tmp_path) / "problems/counter/problem.toml"


def test_the_words_stand_under_the_level_as_a_scorecard_names_it(settings):
    settings.write_text(SETTINGS + 'strong_no_hire = """\nIt does\nnothing."""\n', encoding="utf-8")
    assert read_problem(settings.parents[2], "counter").expects == {
        "Hire": "It counts.",
        "Strong no hire": "It does nothing.",
    }


def test_they_may_be_left_out(settings):
    settings.write_text(SETTINGS.split("[expects]")[0], encoding="utf-8")
    assert read_problem(settings.parents[2], "counter").expects == {}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            'great = "x"',
            "[expects] has 'great'; a level is one of strong_hire, hire, no_hire, strong_no_hire",
        ),
        ("no_hire = 3", "[expects] is a table of sentences"),
    ],
)
def test_other_words_are_refused(settings, line, reason):
    settings.write_text(f"{SETTINGS}{line}\n", encoding="utf-8")
    with pytest.raises(BadPack) as refused:
        read_problem(settings.parents[2], "counter")
    assert str(refused.value) == f"{settings} cannot be read: {reason}"


def test_every_problem_that_says_so_names_levels_of_the_scorecard():
    levels = {level.words for level in Level}
    for problem in all_problems(default_pack()):
        assert set(problem.expects) <= levels
