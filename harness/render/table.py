"""A result as CSV: one row a check, in the suite's order, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import re

from harness.render.plain import lines_of
from harness.results import Check, Finding, Result

COLUMNS = (
    "problem",
    "file",
    "level",
    "check",
    "kind",
    "requirement",
    "status",
    "claim",
    "fault",
    "wanted",
    "got",
    "line",
    "reason",
    "examples",
    "seconds",
)
# What a spreadsheet would run: at the start of a cell, and after what another language's
# spreadsheet takes for the end of one.
FORMULA = re.compile(r"(^|[;|\n])(?=[ \"']*[=+\-@＝＋－＠])")


def table(result: Result) -> str:
    """The rows, with a heading."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for check in result.checks:
        writer.writerow([cell(value) for value in _row(result, check)])
    return text.getvalue()


def _row(result: Result, check: Check) -> list[object]:
    finding = check.finding or Finding(fault="", script=[], imports=[], wanted="", got="")
    return [
        result.problem.slug,
        result.submission.path,
        result.level,
        check.id,
        check.kind,
        check.requirement,
        check.status,
        check.claim,
        finding.fault,
        finding.wanted,
        finding.got,
        finding.line or "",
        check.reason,
        check.examples,
        check.seconds,
    ]


def cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    return FORMULA.sub(r"\1'", lines_of(value))
