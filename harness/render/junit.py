"""Results as JUnit XML: one suite a submission, one case a check."""

from __future__ import annotations

from io import BytesIO

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from harness.render.checks import counts
from harness.render.plain import lines_of
from harness.render.terminal import finding_lines
from harness.results import BROKE, NOT_ASSESSED, Check, Result
from harness.suite.printable import printable


def junit(results: list[Result]) -> bytes:
    """The document. Seeds and questions are not in it: a candidate may read it."""
    document = JUnitXml()
    for result in results:
        document.add_testsuite(_suite(result))
    raw = BytesIO()
    document.write(raw, pretty=True)
    return raw.getvalue()


def _suite(result: Result) -> TestSuite:
    suite = TestSuite(printable(f"{result.problem.slug} {result.submission.path}"))
    suite.add_property("level", printable(result.level))
    suite.add_property("reasons", printable("; ".join(result.reasons)))
    suite.add_property("counts", counts(result))
    suite.add_property("harness", printable(result.run.harness))
    suite.add_property("budget", printable(result.run.budget))
    for check in result.checks:
        suite.add_testcase(_case(check, result))
    if result.could_not_grade:
        suite.add_testcase(_not_graded(result))
    return suite


def _case(check: Check, result: Result) -> TestCase:
    case = TestCase(printable(check.claim), f"{_slug(result)}.{check.kind}", check.seconds)
    if check.status == BROKE:
        fault = check.finding.fault if check.finding else "broke"
        failure = Failure(printable(f"{check.id} ({check.requirement})"), printable(fault))
        failure.text = lines_of("\n".join(finding_lines(check, asked=False)))
        case.result = [failure]
    elif check.status == NOT_ASSESSED:
        case.result = [Skipped(printable(f"not assessed: {check.reason}"))]
    return case


def _slug(result: Result) -> str:
    return printable(result.problem.slug)


def _not_graded(result: Result) -> TestCase:
    case = TestCase("the file could be graded", _slug(result))
    case.result = [Error(printable(result.could_not_grade), "could not grade")]
    return case
