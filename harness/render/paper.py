"""How many findings fit in full on two printed pages: a guess in rows, on the safe side."""

from __future__ import annotations

from harness.render.report import Report, Shown

ROWS = 94  # of two pages, less the headings, the facts, the questions and how to do it again
CHARS_OF_A_CLAIM = 50  # in half a page's width
CHARS_OF_A_ROW = 52
CHARS_OF_CODE = 56
CODE_ROW = 0.85  # code is set smaller
CODE_LINES = 26  # the style sheet prints no more of one function
PICTURE_ROWS = 20  # its caption included


def on_paper(report: Report) -> int:
    """The number of findings; at least one, if there are any."""
    claims = [check.claim for group in report.groups for check in group.checks]
    room = ROWS - _rows(claims, CHARS_OF_A_CLAIM) / 2 - len(report.groups)
    for number, shown in enumerate(report.findings):
        room -= 3 + max(_left(shown), _right(shown))
        if room < 0:
            return max(number, 1)
    return len(report.findings)


def _left(shown: Shown) -> float:
    """The calls, the answers and why it matters."""
    finding, check = shown.finding, shown.check
    words = [finding.wanted, finding.got, finding.code, finding.printed, check.why, check.ask]
    return _rows(finding.script, CHARS_OF_CODE) * CODE_ROW + _rows(words, CHARS_OF_A_ROW) + 2


def _right(shown: Shown) -> float:
    """The picture and the lines."""
    blocks = [one.lines[:CODE_LINES] for one in shown.excerpts if not one.seen_in]
    texts = [[line.text for line in block] for block in blocks]
    code = sum(_rows(text, CHARS_OF_CODE) * CODE_ROW + 1 for text in texts)
    return code + len(shown.excerpts) + (PICTURE_ROWS if shown.drawing else 0)


def _rows(texts: list[str], width: int) -> int:
    return sum(1 + len(text) // width for text in texts)
