"""A round as a table: CSV with a row a submission, and what a terminal shows at the end."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterator
from unicodedata import combining, east_asian_width

from harness.batch.overview import Overview, Row
from harness.render.plain import unheeded
from harness.render.table import cell
from harness.render.terminal import WIDTH
from harness.results import BROKE, KINDS, NOT_ASSESSED
from harness.suite.printable import printable

COLUMNS = (
    "candidate",
    "problem",
    "level",
    "held",
    "broke",
    "not_assessed",
    *(f"{kind}_broke" for kind in KINDS),
    "seconds",
    "reasons",
    "could_not_grade",
    "broken_checks",
    "not_assessed_checks",
    "file_sha256",
)


def round_csv(overview: Overview) -> str:
    """The rows, with a heading."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in overview.submissions:
        writer.writerow([cell(value) for value in _values(row)])
    return text.getvalue()


def _values(row: Row) -> list[object]:
    return [
        row.candidate,
        row.problem,
        row.level,
        row.held,
        row.broke,
        row.not_assessed,
        *(row.broken[kind] for kind in KINDS),
        row.seconds,
        "; ".join(row.reasons),
        row.could_not_grade,
        _ids(row, BROKE),
        _ids(row, NOT_ASSESSED),
        row.file_sha256,
    ]


def _ids(row: Row, status: str) -> str:
    return " ".join(check for check, how in row.checks.items() if how == status)


def round_lines(overview: Overview) -> Iterator[str]:
    """The table for a terminal, problem by problem; candidates by name, which is no ranking."""
    for problem in overview.problems:
        rows = overview.of(problem)
        yield from textwrap.wrap(f"{problem.slug}   {problem.title}", WIDTH)
        yield "  level             invariants   others     time   candidate"
        yield "                         broke    broke"
        for row in rows:
            yield from map(unheeded, _lines(row))
        yield ""


def _lines(row: Row) -> Iterator[str]:
    """One submission; a long name goes on in the next lines and is never cut."""
    invariants = row.broken["invariant"]
    figures = f"  {row.level:<16}{invariants or '-':>12}{row.broke - invariants or '-':>9}"
    figures += f"{row.seconds:>7.1f} s   "
    first, *rest = _pieces(printable(row.candidate), WIDTH - len(figures))
    yield figures + first
    yield from (" " * len(figures) + piece for piece in rest)


def _pieces(name: str, room: int) -> list[str]:
    """A name in pieces that take so many columns: some letters take two, marks on letters none."""
    pieces, left = [""], room
    for char in name:
        columns = 0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1
        if columns > left:
            pieces.append("")
            left = room
        pieces[-1] += char
        left -= columns
    return pieces
