"""The error over positions, on a logarithmic scale, with what was allowed."""

from __future__ import annotations

import math
from collections.abc import Iterator

from harness.render.svg import LINE, WIDTH, Drawing, cross, line, picture, rect, text
from harness.suite.pictures import Errors

SCALE = 46  # units for the numbers at the left
ROOM = WIDTH - SCALE - 4
HEIGHT = 120
TOP = 8


def draw(errors: Errors) -> Drawing:
    """A bar for each position, a step of the line for what is allowed there."""
    low, high = _range(errors)
    parts = [*_axis(low, high), *_bars(errors, low, high), *_labels(errors)]
    over = sum(
        value is None or value > limit
        for value, limit in zip(errors.values, errors.allowed, strict=False)
    )
    label = f"Error over {len(errors.values)} positions; {over} over what is allowed"
    return Drawing(picture(parts, height=TOP + HEIGHT + 2 * LINE, label=label), _caption(errors))


def _range(errors: Errors) -> tuple[int, int]:
    known = [v for v in (*errors.values, *errors.allowed) if v is not None and 0 < v < math.inf]
    low = math.floor(math.log10(min(known, default=1e-3)))
    high = math.ceil(math.log10(max(known, default=1.0)))
    return max(low, high - 9), max(high, low + 1)


def _height(value: float | None, low: int, high: int) -> float:
    """Where a value stands: 0 at the foot, HEIGHT at the top; what is not finite at the top."""
    if value is None or value == math.inf:
        return HEIGHT
    if value <= 0:
        return 0.0
    return HEIGHT * min(1.0, max(0.0, (math.log10(value) - low) / (high - low)))


def _axis(low: int, high: int) -> Iterator[str]:
    step = max(1, (high - low) // 4)
    for exponent in range(low, high + 1, step):
        y = TOP + HEIGHT - HEIGHT * (exponent - low) / (high - low)
        yield line(SCALE, y, WIDTH - 4, y, "rule")
        yield text(SCALE - 4, y + 4, f"1e{exponent}", anchor="end", kind="small")


def _bars(errors: Errors, low: int, high: int) -> Iterator[str]:
    width = ROOM / len(errors.values)
    for position, value in enumerate(errors.values):
        limit = errors.allowed[min(position, len(errors.allowed) - 1)]
        x, height = SCALE + position * width, _height(value, low, high)
        over = value is None or value > limit
        bar = min(width * 0.8, 18)
        yield rect(
            x + (width - bar) / 2, TOP + HEIGHT - height, bar, height, "got" if over else "fine"
        )
        if value is None:
            yield cross(x + width / 2 - 3, TOP + 2, 6, "stroke")
        y = TOP + HEIGHT - _height(limit, low, high)
        yield line(x, y, x + width, y, "limit")


def _labels(errors: Errors) -> Iterator[str]:
    y = TOP + HEIGHT + LINE - 3
    last = len(errors.values) * errors.width - 1
    yield text(SCALE, y, "0", kind="small")
    yield text(WIDTH - 4, y, str(last), anchor="end", kind="small")
    yield text(SCALE + ROOM / 2, y, errors.along, anchor="middle", kind="small")


def _caption(errors: Errors) -> str:
    each = f"the worst of {errors.width} positions" if errors.width > 1 else "one position"
    return (
        f"Each bar is the error of {each}, on a logarithmic scale; the dashed line is what is "
        "allowed. A cross is a value that is not finite."
    )
