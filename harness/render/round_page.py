"""A round as one HTML page: sorted and filtered by a small script, whole without it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median
from urllib.parse import quote

from markupsafe import Markup

from harness.batch.overview import CheckShown, Overview, ProblemShown, Row
from harness.render.report import TITLES
from harness.render.templates import embedded, template
from harness.results import BROKE, HELD, KINDS, NOT_ASSESSED
from harness.scorecard import NO_SIGNAL, Level

LEVELS = [*(level.words for level in sorted(Level, reverse=True)), NO_SIGNAL]
KIND_TITLES = {kind: title for kind, (title, _) in TITLES.items()}
CELLS = {  # the word is the cell's text; the style sheet draws a sign over it
    HELD: "<td>held",
    BROKE: "<td class=b>broke",
    NOT_ASSESSED: "<td class=n>not assessed",
    None: "<td class=m>not in its suite",
}
SCORECARDS = "scorecards"


@dataclass(frozen=True, slots=True)
class Column:
    """One check of a problem, and for whom it broke."""

    check: CheckShown
    broke: list[Row]


@dataclass(frozen=True, slots=True)
class Section:
    """One problem: how its submissions went, and its checks against them."""

    problem: ProblemShown
    rows: list[Row]
    columns: list[Column]
    levels: list[int]  # in the order of LEVELS
    seconds: float

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """The kinds of the columns and how many there are of each."""
        count = Counter(column.check.kind for column in self.columns)
        return [(KIND_TITLES[kind], count[kind]) for kind in KINDS if count[kind]]

    @property
    def busy(self) -> list[Column]:
        """The columns in which something broke."""
        return [column for column in self.columns if column.broke]

    @property
    def bars(self) -> list[tuple[int, float, float]]:
        """The share of each level as a bar of width 100: its rank, start and width."""
        unit = 100 / max(1, sum(self.levels))
        starts = [sum(self.levels[:place]) * unit for place in range(len(self.levels))]
        return [
            (rank(LEVELS[place]), round(starts[place], 2), round(count * unit, 2))
            for place, count in enumerate(self.levels)
            if count
        ]


def round_page(overview: Overview, *, alike: str = "") -> str:
    """The page. `alike` is the address of the report on alike submissions, when there is one.

    Only its own style and script are allowed to apply, whatever a candidate's name holds.
    """
    return template("round.html.j2").render(
        overview=overview,
        sections=[_section(overview, problem) for problem in overview.problems],
        levels=LEVELS,
        kinds=KIND_TITLES,
        rank=rank,
        address=address,
        cells=cells,
        style=embedded("report.css", "round.css"),
        script=embedded("round.js"),
        alike=alike,
    )


def rank(level: str) -> int:
    """A level's place in the order that levels have, 0 for none."""
    return {level: len(LEVELS) - 1 - place for place, level in enumerate(LEVELS)}.get(level, 0)


def address(row: Row) -> str:
    """Where a submission's scorecard lies, seen from the page."""
    return f"{SCORECARDS}/{quote(row.scorecard, safe='')}"


def cells(row: Row, columns: list[Column]) -> Markup:
    """How each check went; nothing of a candidate's is in it."""
    return Markup("".join(CELLS[row.checks.get(column.check.id)] for column in columns))


def _section(overview: Overview, problem: ProblemShown) -> Section:
    rows = overview.of(problem)
    levels = Counter(row.level if row.level in LEVELS else NO_SIGNAL for row in rows)
    return Section(
        problem=problem,
        rows=rows,
        columns=[
            Column(check, [row for row in rows if row.checks.get(check.id) == BROKE])
            for check in problem.checks
        ],
        levels=[levels[level] for level in LEVELS],
        seconds=median([row.seconds for row in rows]),
    )
