"""Two results side by side as one HTML page: no script, no request, readable on a phone."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from harness.render.comparison import Comparison, Pair, careful, counted, facts
from harness.render.drawings import drawing_of
from harness.render.report import TITLES
from harness.render.source import Line, excerpt, plain, shown_text
from harness.render.svg import Drawing
from harness.render.templates import embedded, template
from harness.results import BROKE, HELD, NOT_ASSESSED, Check, Finding, Result

MOST_SOURCE_LINES = 2_000
BOTH = (HELD, BROKE, NOT_ASSESSED)


@dataclass(frozen=True, slots=True)
class Half:
    """How one check went on one side."""

    letter: str
    status: str
    check: Check | None
    excerpts: list[list[Line]]
    drawing: Drawing | None

    @property
    def finding(self) -> Finding | None:
        return self.check.finding if self.check else None


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: whose it is, and the file that its result is read from."""

    letter: str
    name: str
    file: str
    result: Result

    @property
    def reasons(self) -> list[str]:
        return [why for why in self.result.reasons if why != self.result.could_not_grade]

    @property
    def source(self) -> list[str]:
        """The file's lines as they may be shown."""
        return [shown_text(line) for line in self._lines[:MOST_SOURCE_LINES]]

    @property
    def left_out(self) -> int:
        return max(0, len(self._lines) - MOST_SOURCE_LINES)

    @property
    def _lines(self) -> list[str]:
        return plain(self.result.submission.source).split("\n")


def comparison_page(comparison: Comparison, names: tuple[str, str], files: tuple[str, str]) -> str:
    """The page, for a panel. Only its own style is allowed to apply, whatever a text holds."""
    a, b = comparison.a, comparison.b
    sides = zip("AB", names, files, (a, b), strict=True)
    return template("comparison.html.j2").render(
        title=a.problem.title,
        minutes=a.problem.minutes,
        sides=[Side(*side) for side in sides],
        facts=list(facts(a, b)),
        careful=list(careful(a, b)),
        counted=counted(comparison),
        differing=comparison.differing,
        told_apart=[(pair, _halves(comparison, pair)) for pair in comparison.told_apart],
        alike=[(status, _alike(comparison, status)) for status in BOTH],
        kinds={kind: title for kind, (title, _) in TITLES.items()},
        style=embedded("report.css", "comparison.css"),
        svg=Markup,
    )


def _alike(comparison: Comparison, status: str) -> list[Check]:
    return [pair.either for pair in comparison.both(status) if not pair.broke_otherwise]


def _halves(comparison: Comparison, pair: Pair) -> list[Half]:
    sides = zip("AB", pair.statuses, (pair.a, pair.b), (comparison.a, comparison.b), strict=True)
    calls = [call for check in (pair.a, pair.b) if check and check.finding
             for call in check.finding.calls]  # fmt: skip
    return [_half(*side, calls) for side in sides]


def _half(letter: str, status: str, check: Check | None, result: Result, calls: list[str]) -> Half:
    """One side; where it held, the lines of its own that the other side's finding calls."""
    finding = check.finding if check else None
    source = result.submission.source
    if finding is None:
        blocks = excerpt(source, calls=list(dict.fromkeys(calls)), line=0) if check else []
        return Half(letter, status, check, [lines for lines in blocks if lines], None)
    blocks = excerpt(source, calls=finding.calls, line=finding.line)
    return Half(letter, status, check, [lines for lines in blocks if lines],
                drawing_of(finding.picture))  # fmt: skip
