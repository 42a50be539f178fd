"""Text of a stranger's that nothing obeys which shows it: not a terminal, not a page, not a log."""

from __future__ import annotations

import re

from harness.suite.printable import printable

MARKED = re.compile(
    r"##(?=\w*\[)"
)  # ##[error], ##vso[task...], ##teamcity[...]: anywhere in a line


def lines_of(text: str) -> str:
    """The text in its lines, every other control character written out."""
    return "\n".join(printable(line) for line in text.split("\n"))


def unheeded(line: str) -> str:
    """A line that no CI takes for a command when it stands in its log, after spaces or not."""
    start = len(line) - len(line.lstrip())
    if line.startswith("::", start):
        line = f"{line[:start]}:\\x3a{line[start + 2 :]}"
    return MARKED.sub(r"#\\x23", line)


def logged(text: str) -> str:
    """The text on one line that neither a terminal nor a CI obeys."""
    return unheeded(printable(text))


def one_line(text: str) -> str:
    """The text on one line."""
    return lines_of(text).replace("\n", "; ")


def one_spaced(text: str) -> str:
    """The text on one line, each run of white space one space."""
    return printable(" ".join(text.split()))
