"""Every report that a result is made into, and what no report may carry through."""

from __future__ import annotations

import re

from harness.render import terminal
from harness.render.annotations import for_github, in_plain, notes
from harness.render.comparison import compared
from harness.render.comparison_page import comparison_page
from harness.render.gradescope import gradescope
from harness.render.html import html
from harness.render.junit import junit
from harness.render.markdown import markdown
from harness.render.report import Audience
from harness.render.run_log import run_log
from harness.render.side_by_side import side_by_side
from harness.render.table import table
from harness.results import Result, to_json

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
COMMAND = re.compile(r"^\s*::|##\[", re.MULTILINE)  # what a CI obeys in a log
MARKUP = ("<script>alert", "<img src=x", "<b>>")
IN_A_LOG = ("terminal", "compared", "plain notes")


def on_a_terminal(result: Result) -> str:
    """What `harness check --all` prints, without colours."""
    lines = [terminal.check_line(check, colour=False) for check in result.checks]
    lines += [terminal.findings(result, every=True, colour=False), terminal.footer(result)]
    return "\n".join([*lines, terminal.summary(result, next_command="")])


def all_reports(result: Result) -> dict[str, str]:
    """Every text that is made of a result, by the name of its form."""
    names = (result.submission.path, result.submission.path)
    return {
        "terminal": on_a_terminal(result),
        "markdown": markdown(result, Audience.PANEL),
        "html": html(result, Audience.PANEL),
        "comparison": comparison_page(compared(result, result), names, names),
        "compared": "\n".join(side_by_side(compared(result, result), names, every=True)),
        "junit": junit([result]).decode(),
        "gradescope": gradescope(result).decode(),
        "csv": table(result).replace("\r\n", "\n"),
        "json": to_json(result).decode(),
        "plain notes": "\n".join(map(in_plain, notes([result]))),
        "notes for github": "\n".join(map(for_github, notes([result]))),
        "log": "\n".join(run_log([result], [], token="token")),
    }


def complaints(result: Result) -> list[str]:
    """Where a report holds what a terminal, a page or a log would obey."""
    found = []
    for name, text in all_reports(result).items():
        if CONTROL.search(text):
            found.append(f"{name} holds a control character")
        if name in IN_A_LOG and COMMAND.search(text):
            found.append(f"{name} commands a CI")
        if name in ("html", "comparison", "junit") and any(markup in text for markup in MARKUP):
            found.append(f"{name} holds a candidate's markup")
        if name == "notes for github" and len(text.splitlines()) > len(result.checks):
            found.append("a note of a candidate's own")
    return found
