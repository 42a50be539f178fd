"""JUnit, read back by a parser of the format."""

from __future__ import annotations

import msgspec
from junitparser import Error, Failure, JUnitXml, Skipped

from harness.render.junit import junit
from tests.results_made import broke, held, not_assessed, result_of
from tests.test_html import HOSTILE, round_with


def read(*results):
    return list(JUnitXml.fromstring(junit(list(results)).decode()))


def test_each_check_is_a_case_and_says_how_it_went():
    (suite,) = read(result_of(held("one-holds", "invariant"), broke(), not_assessed()))
    assert suite.name == "counter counter.py"
    assert (suite.tests, suite.failures, suite.skipped, suite.errors) == (3, 1, 1, 0)
    cases = [(case.classname, case.name, case.time) for case in suite]
    assert cases == [
        ("counter.invariant", "one holds", 0.25),
        ("counter.behaviour", "it adds", 0.25),
        ("counter.cost", "it is fast", 0.25),
    ]
    assert next(iter(suite)).result == []


def test_a_failure_holds_the_finding_without_the_question():
    (suite,) = read(result_of(broke()))
    (failure,) = next(iter(suite)).result
    assert isinstance(failure, Failure)
    assert (failure.message, failure.type) == ("it-adds (R1)", "wrong answer")
    assert failure.text == (
        "broke[it-adds]: it adds (R1)\n\n    a = Counter(1)\n    a.up(2)  # -> 4\n\n"
        "  wanted  3\n  got     4\n  why     Without it it adds no more.\n"
    )


def test_what_was_not_assessed_is_skipped_and_never_passed():
    (suite,) = read(result_of(not_assessed()))
    (skipped,) = next(iter(suite)).result
    assert isinstance(skipped, Skipped)
    assert skipped.message == "not assessed: needs a cuda device"


def test_what_could_not_be_graded_is_an_error_and_no_failure():
    (suite,) = read(result_of(could_not_grade="no engine"))
    (error,) = next(iter(suite)).result
    assert isinstance(error, Error)
    assert (error.message, error.type) == ("no engine", "could not grade")


def test_several_results_are_several_suites():
    assert [suite.name for suite in read(result_of(held()), result_of(held(), path="b.py"))] == [
        "counter counter.py",
        "counter b.py",
    ]


def test_text_of_a_candidate_stays_text():
    (suite,) = read(round_with(HOSTILE + "\x00\ufffe]]>"))
    assert "\\x00" in suite.name
    assert (suite.tests, suite.failures, suite.skipped) == (4, 2, 1)


def test_no_seed_is_in_it():
    assert b"987654321" not in junit([result_of(broke())])


def test_a_foreign_document_is_no_broken_one():
    result = result_of(held(), could_not_grade="no engine")
    problem = msgspec.structs.replace(result.problem, slug="a\x00\u202e<b>")
    (suite,) = read(msgspec.structs.replace(result, problem=problem))
    assert [case.classname for case in suite] == [
        "a\\x00\\u202e<b>.behaviour",
        "a\\x00\\u202e<b>",
    ]
