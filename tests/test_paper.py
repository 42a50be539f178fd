"""How many findings two sheets are given; that they fit is seen in a browser."""

from __future__ import annotations

from harness.render.paper import on_paper
from harness.render.report import Audience, report_of
from tests.results_made import broke, held, result_of


def fit(*checks):
    return on_paper(report_of(result_of(*checks), Audience.PANEL))


def test_as_many_findings_as_fit():
    assert fit(*(broke(f"b{number}") for number in range(20))) == 6
    assert fit(*(broke(f"b{number}", got="x" * 600) for number in range(20))) == 3


def test_one_finding_is_always_in_full():
    assert fit(broke(script=["a.up(1)"] * 200), broke("other")) == 1


def test_nothing_broke():
    assert fit(held()) == 0
