"""What a report says, and to whom."""

from __future__ import annotations

import msgspec

from harness.render.report import Audience, report_of
from harness.results import OwnTests, Sitting
from tests.results_made import broke, held, not_assessed, result_of

PANEL, CANDIDATE = Audience.PANEL, Audience.CANDIDATE
MIXED = result_of(
    held("one-holds", "invariant"),
    broke("it-adds"),
    broke("it-refuses", "edge", fault="raised", line=10, got="raised: ValueError: down"),
    not_assessed(),
    expects={"Strong no hire": "Nothing works.", "Hire": "It works."},
)


def test_the_checks_stand_by_kind_with_what_held():
    groups = [(g.title, g.count, [c.id for c in g.checks]) for g in report_of(MIXED, PANEL).groups]
    assert groups == [
        ("Invariants", "1 of 1 held", ["one-holds"]),
        ("Behaviours", "0 of 1 held", ["it-adds"]),
        ("Edges", "0 of 1 held", ["it-refuses"]),
        ("Costs", "0 of 1 held", ["it-is-fast"]),
    ]


def test_what_the_problem_expects_at_this_level_is_quoted():
    assert report_of(MIXED, PANEL).expects == "Nothing works."


def test_a_candidate_sees_no_seed_no_facts_and_no_questions():
    report = report_of(MIXED, CANDIDATE)
    assert (report.facts, report.questions, report.reproduce) == ([], [], [])
    assert [shown.check.id for shown in report.findings] == ["it-adds", "it-refuses"]


def test_checks_that_broke_in_the_same_place_share_a_finding():
    same = {"fault": "raised", "line": 10, "got": "raised: ValueError: down"}
    result = result_of(broke("one", **same), broke("two", "invariant", **same), broke("three"))
    findings = report_of(result, PANEL).findings
    assert [(s.check.id, [other.id for other in s.others]) for s in findings] == [
        ("two", ["one"]),
        ("three", []),
    ]
    assert [report_of(result, PANEL).place(check) for check in result.checks] == [1, 1, 2]


def test_lines_shown_before_are_not_shown_again():
    findings = report_of(result_of(broke("one"), broke("two", got="5")), PANEL).findings
    assert [[one.seen_in for one in shown.excerpts] for shown in findings] == [[0, 0], [1, 1]]


def test_the_facts_are_in_words():
    result = msgspec.structs.replace(
        MIXED,
        sitting=Sitting(minutes=21.4, checks=7, hints=1),
        own_tests=OwnTests(tests=4, caught=9, mistakes=14, refuses=["other.py"]),
    )
    assert report_of(result, PANEL).facts == [
        ("time", "21 of 30 minutes"),
        ("checks run", "7"),
        ("hints", "1"),
        (
            "own tests",
            "4 tests; they catch 9 of 14 wrong answers; they reject 1 right answer: other.py",
        ),
        ("file", "15 lines, 255 bytes"),
        ("longest function", "up, 5 lines (from line 8)"),
        ("examples", "240 in 2 s"),
    ]


def test_without_notes_of_the_sitting_the_time_is_not_made_up():
    assert report_of(MIXED, PANEL).facts[0] == ("time", "not noted")


def test_the_questions_begin_with_what_broke():
    assert report_of(MIXED, PANEL).questions == [
        "How is it that it adds?",
        "How is it that it refuses?",
        "How is it that one holds?",
    ]


def test_how_to_do_it_again_begins_with_a_command_that_can_be_pasted():
    result = result_of(held(), path="my answers/it's.py")
    assert report_of(result, PANEL).reproduce[:2] == [
        (
            "command",
            "harness check counter 'my answers/it'\"'\"'s.py' --backend local --seed 987654321 "
            "--budget quick",
        ),
        ("seed", "987654321"),
    ]
