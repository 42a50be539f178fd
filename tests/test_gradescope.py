"""Gradescope's results.json: a level as a score, no sum of checks, and no score without a level."""

from __future__ import annotations

import json

import pytest

from harness.render.gradescope import NoScore, gradescope
from tests.results_made import broke, held, not_assessed, result_of
from tests.test_html import HOSTILE, round_with


@pytest.mark.parametrize(
    ("checks", "score"),
    [
        ([held(), held("one", "invariant")], 3),
        ([held(), broke("one", "edge"), held("two", "edge")], 2),
        ([held(), broke("one", "invariant")], 1),
        ([broke(), held("one", "invariant")], 0),
    ],
)
def test_a_level_is_a_score(checks, score):
    assert json.loads(gradescope(result_of(*checks)))["score"] == score


def test_each_check_is_a_test_without_a_score_of_its_own():
    result = result_of(held("one-holds", "invariant"), broke(), not_assessed())
    tests = json.loads(gradescope(result))["tests"]
    assert [(test["number"], test["name"], test.get("status")) for test in tests] == [
        ("R1", "one holds", "passed"),
        ("R1", "it adds", "failed"),
        ("R1", "it is fast", None),
    ]
    assert [test["output"].splitlines()[:1] for test in tests] == [
        [],
        ["broke[it-adds]: it adds (R1)"],
        ["not assessed: needs a cuda device"],
    ]
    assert all("score" not in test and "max_score" not in test for test in tests)


def test_without_a_level_there_is_no_score():
    with pytest.raises(NoScore, match=r"^no engine$"):
        gradescope(result_of(could_not_grade="no engine"))


def test_it_holds_what_a_candidate_may_see():
    text = gradescope(result_of(broke())).decode()
    assert "987654321" not in text
    assert "How is it" not in text


def test_terminal_codes_of_a_candidate_are_written_out():
    tests = json.loads(gradescope(round_with(HOSTILE)))["tests"]
    assert "\\x1b[31m" in tests[0]["output"]
    assert not any("\x1b" in test["output"] for test in tests)
