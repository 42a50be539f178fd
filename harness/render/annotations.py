"""Findings as notes on the candidate's lines: for GitHub's page of changes, or as plain lines."""

from __future__ import annotations

from dataclasses import dataclass

from harness.render.checks import heaviest_first
from harness.render.plain import lines_of, one_line, unheeded
from harness.render.source import start_line
from harness.results import KINDS, Check, Result

MOST = 10  # GitHub shows no more of a step
SEVERE = ("invariant", "behaviour")
ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
IN_PROPERTIES = {**ESCAPES, ":": "%3A", ",": "%2C"}


@dataclass(frozen=True, slots=True)
class Annotation:
    """A note on one line of one file."""

    path: str
    line: int
    severity: str
    title: str
    message: str


def notes(results: list[Result]) -> list[Annotation]:
    """The heaviest findings of all results, at most ten."""
    pairs = [(check, result) for result in results for check in heaviest_first(result)]
    pairs.sort(key=lambda pair: KINDS.index(pair[0].kind))
    return [_annotation(check, result) for check, result in pairs[:MOST]]


def _annotation(check: Check, result: Result) -> Annotation:
    finding, source = check.finding, result.submission.source
    line, answers = 1, ""
    if finding is not None:
        line = start_line(source, calls=finding.calls, line=finding.line)
        answers = f"\nwanted {finding.wanted}\ngot {finding.got}"
    return Annotation(
        path=result.submission.path,
        line=line,
        severity="error" if check.kind in SEVERE else "warning",
        title=f"broke[{check.id}]",
        message=f"{check.claim} ({check.requirement}){answers}",
    )


def for_github(note: Annotation) -> str:
    """A workflow command: one line, whatever the text holds."""
    properties = ",".join(
        f"{name}={_escaped(value, IN_PROPERTIES)}"
        for name, value in (("file", note.path), ("line", str(note.line)), ("title", note.title))
    )
    return f"::{note.severity} {properties}::{_escaped(note.message, ESCAPES)}"


def in_plain(note: Annotation) -> str:
    """A line as compilers write it."""
    text = f"{note.path}:{note.line}: {note.severity}: {note.title}: {note.message}"
    return unheeded(one_line(text))


def _escaped(text: str, escapes: dict[str, str]) -> str:
    return "".join(escapes.get(char, char) for char in lines_of(text))
