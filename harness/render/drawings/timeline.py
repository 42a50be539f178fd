"""A schedule as a timeline: a row for each request, a column for each step."""

from __future__ import annotations

from collections.abc import Iterator

from harness.render.svg import LINE, WIDTH, Drawing, cut, line, picture, rect, text
from harness.suite.pictures import Cell, Timeline

NAMES = 58  # units for the names at the left
A_BAND = 12  # steps side by side; more go below
CELL = (WIDTH - NAMES) / A_BAND
CAPTION = (
    "Filled: the request runs, with the tokens it is given. Outlined: it waits. "
    "Crossed out: it is preempted. A heavy outline marks the step that broke."
)


def draw(timeline: Timeline) -> Drawing:
    """Bands of steps, one under the other."""
    steps = max((len(row.cells) for row in timeline.rows), default=0)
    starts = range(0, steps, A_BAND)
    band = (len(timeline.rows) + 2) * LINE
    parts = [
        part
        for number, start in enumerate(starts)
        for part in _band(timeline, start, number * band + LINE)
    ]
    last = timeline.first_step + steps - 1
    label = f"Schedule of {len(timeline.rows)} requests, steps {timeline.first_step} to {last}"
    return Drawing(picture(parts, height=band * len(starts), label=label), CAPTION)


def _band(timeline: Timeline, start: int, y: float) -> Iterator[str]:
    yield text(2, y - 4, "step", kind="small")
    width = max(len(row.cells) for row in timeline.rows)
    for column in range(start, min(start + A_BAND, width)):
        x = NAMES + (column - start) * CELL
        number = str(timeline.first_step + column)
        yield text(x + CELL / 2, y - 4, number, anchor="middle", kind="small")
    for position, row in enumerate(timeline.rows):
        top = y + position * LINE
        yield text(2, top + 12, cut(row.name, 9))
        for column, cell in enumerate(row.cells[start : start + A_BAND]):
            yield from _cell(NAMES + column * CELL, top, cell)


def _cell(x: float, y: float, cell: Cell) -> Iterator[str]:
    if cell.state or cell.marked:
        kind = {"runs": "held", "waits": "free", "stops": "stopped", "": "free"}[cell.state]
        marked = " marked" if cell.marked else ""
        yield rect(x + 1, y + 1, CELL - 2, LINE - 2, kind + marked)
    if cell.state == "stops":
        yield line(x + 2, y + LINE - 2, x + CELL - 2, y + 2, "stroke")
    if cell.text:
        yield text(x + CELL / 2, y + 12, cut(cell.text, 4), anchor="middle", kind="small")
