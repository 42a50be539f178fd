"""A result as Gradescope's results.json: what its autograder page shows a student.

Gradescope needs a number, and a level is none: the levels are scored 0 to 3, lowest first, and no
sum of the checks is made. "No signal" has no score, so there is no document for it.
"""

from __future__ import annotations

import json
from typing import Any

from harness.render.markdown import markdown
from harness.render.plain import lines_of
from harness.render.report import Audience
from harness.render.terminal import finding_lines
from harness.results import BROKE, HELD, Check, Result
from harness.scorecard import NO_SIGNAL, Level
from harness.suite.printable import printable

STATUS = {HELD: "passed", BROKE: "failed"}


class NoScore(Exception):
    """There is no level, so any number would be a mark that nobody gave."""


def gradescope(result: Result) -> bytes:
    """The document; raise `NoScore` where nothing was graded."""
    scores = {level.words: int(level) for level in Level}
    if result.level == NO_SIGNAL or result.level not in scores:
        raise NoScore(printable("; ".join(result.reasons)) or "there is no level")
    document = {
        "score": scores[result.level],
        "execution_time": result.run.seconds,
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "output": markdown(result, Audience.CANDIDATE),
        "output_format": "md",
        "tests": [_test(check) for check in result.checks],
        "extra_data": {"level": result.level, "reasons": result.reasons},
    }
    return json.dumps(document, indent=2).encode() + b"\n"


def _test(check: Check) -> dict[str, Any]:
    test: dict[str, Any] = {
        "name": printable(check.claim),
        "number": printable(check.requirement),
        "output": _output(check),
        "output_format": "text",
        "name_format": "text",
        "tags": [check.kind],
        "visibility": "visible",
    }
    if check.status in STATUS:
        test["status"] = STATUS[check.status]
    return test


def _output(check: Check) -> str:
    if check.status == BROKE:
        return lines_of("\n".join(finding_lines(check, asked=False)))
    return printable(check.reason and f"not assessed: {check.reason}")
