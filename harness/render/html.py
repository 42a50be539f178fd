"""The report as one HTML page: no script, no request, readable on a phone, on paper and aloud."""

from __future__ import annotations

from markupsafe import Markup

from harness.render.facts import OPEN_QUESTIONS
from harness.render.paper import on_paper
from harness.render.report import Audience, report_of
from harness.render.source import plain, shown_text
from harness.render.templates import embedded, template
from harness.results import Result

MOST_SOURCE_LINES = 2_000


def html(result: Result, audience: Audience, *, index: str = "") -> str:
    """The page. Only its own style is allowed to apply, whatever a result's text holds.

    `index` is the address of the page of the round, when there is one.
    """
    lines = plain(result.submission.source).split("\n")
    report = report_of(result, audience)
    return template("report.html.j2").render(
        report=report,
        result=result,
        index=index,
        style=embedded("report.css"),
        svg=Markup,
        source=[shown_text(line) for line in lines[:MOST_SOURCE_LINES]],
        left_out=max(0, len(lines) - MOST_SOURCE_LINES),
        on_paper=on_paper(report),
        open_questions=OPEN_QUESTIONS,
    )
