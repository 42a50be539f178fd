"""The report as Markdown: what comes from a candidate stands in code, where nothing is obeyed."""

from __future__ import annotations

import re

from harness.render.facts import OPEN_QUESTIONS
from harness.render.plain import lines_of, one_spaced
from harness.render.report import Audience, Shown, report_of
from harness.render.templates import template
from harness.results import Result

MARKS = re.compile(r"([\\`*_{}\[\]<>#|!&~$@:]|(?<=www)\.|^[-+=])", re.IGNORECASE)
LABEL_WIDTH = 8


def markdown(result: Result, audience: Audience, *, heading: str = "#") -> str:
    """The report; `heading` is how deep its first heading is."""
    return template("report.md.j2").render(
        report=report_of(result, audience),
        result=result,
        heading=heading,
        words=words,
        span=span,
        cell=cell,
        fence=fence,
        answers=answers,
        open_questions=OPEN_QUESTIONS,
    )


def words(text: str) -> str:
    """Text as text: on one line, every mark that means something in Markdown escaped."""
    return MARKS.sub(r"\\\1", one_spaced(text))


def span(text: str) -> str:
    """Text in a line, as code."""
    text = one_spaced(text)
    ticks = "`" * (_longest_run(text) + 1)
    return f"{ticks} {text} {ticks}" if "`" in text else f"`{text or ' '}`"


def cell(text: str) -> str:
    """Text in a table, as code; a bar would end the cell even there."""
    return span(text.replace("|", "¦"))


def fence(text: str, language: str = "text") -> str:
    """Text in lines, as code: the fence is longer than any in it."""
    text = lines_of(text)
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def answers(shown: Shown) -> str:
    """What was wanted and got, in lines."""
    finding = shown.finding
    pairs = {"wanted": finding.wanted, "got": finding.got}
    if finding.line:
        pairs["line"] = f"{finding.line}: {finding.code}"
    if finding.printed:
        pairs["printed"] = finding.printed
    indent = "\n" + " " * LABEL_WIDTH
    return "\n".join(
        f"{name:<{LABEL_WIDTH}}{text.replace(chr(10), indent)}" for name, text in pairs.items()
    )


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
