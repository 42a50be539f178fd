"""A mask as a grid: what may be seen, and where the answer differs."""

from __future__ import annotations

from collections.abc import Iterator

from harness.render.svg import LINE, WIDTH, Drawing, cross, picture, rect, text
from harness.suite.pictures import Grid

MARGIN = 30
MOST_SIDE = 22
CAPTION = (
    "Filled: seen. Empty: hidden. Crossed: the answer differs from what is wanted "
    "(crossed and filled: seen, but to be hidden; crossed and empty: hidden, but to be seen)."
)


def draw(grid: Grid) -> Drawing:
    """A square for each pair of row and column."""
    columns = max((len(row) for row in (*grid.wanted, *grid.got)), default=0)
    side = min(MOST_SIDE, (WIDTH - MARGIN) / max(columns, 1))
    parts = list(_heads(grid, columns, side))
    wrong = 0
    for number, (wanted, got) in enumerate(zip(grid.wanted, grid.got, strict=False)):
        for column, (a, b) in enumerate(zip(wanted, got, strict=False)):
            wrong += a != b
            x, y = MARGIN + column * side, 2 * LINE + number * side
            parts.extend(_cell(x, y, side, is_seen=b == "1", differs=a != b))
    label = f"Mask, {grid.rows} by {grid.columns}: {wrong} places differ"
    return Drawing(
        picture(parts, height=2 * LINE + len(grid.wanted) * side + 2, label=label), CAPTION
    )


def _cell(x: float, y: float, side: float, *, is_seen: bool, differs: bool) -> Iterator[str]:
    kind = ("got" if differs else "seen") if is_seen else "hidden"
    yield rect(x + 0.5, y + 0.5, side - 1, side - 1, kind)
    if differs:
        yield cross(x + 3, y + 3, side - 6, "stroke" + (" over" if is_seen else ""))


def _heads(grid: Grid, columns: int, side: float) -> Iterator[str]:
    yield text(2, 12, f"{grid.rows} down, {grid.columns} across", kind="small")
    every = 1 if side >= 16 else 4
    for column in range(0, columns, every):
        x = MARGIN + (column + 0.5) * side
        yield text(x, 2 * LINE - 4, str(grid.first_column + column), anchor="middle", kind="small")
    for row in range(0, len(grid.wanted), every):
        y = 2 * LINE + (row + 0.5) * side + 4
        yield text(MARGIN - 4, y, str(grid.first_row + row), anchor="end", kind="small")
