"""The marks that pictures are made of: SVG as text, coloured by classes, safe for any content."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from harness.suite.printable import printable

WIDTH = 340  # units; a phone shows one as about one pixel
LINE = 16  # a row of text


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture, and in words what its marks mean."""

    svg: str
    caption: str


def picture(parts: Iterable[str], *, height: float, label: str) -> str:
    """A whole picture; `label` is what a screen reader says of it."""
    head = f'role="img" viewBox="0 0 {WIDTH} {_n(height)}" aria-label="{escape(printable(label))}"'
    return f'<svg class="picture" {head}>{"".join(parts)}</svg>'


def rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    """A rectangle of a class that the page colours."""
    return (
        f'<rect class="{kind}" x="{_n(x)}" y="{_n(y)}" '
        f'width="{_n(max(width, 0))}" height="{_n(max(height, 0))}"/>'
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    ends = f'x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"'
    return f'<line class="{kind}" {ends}/>'


def cross(x: float, y: float, size: float, kind: str) -> str:
    """A cross over a square."""
    return line(x, y, x + size, y + size, kind) + line(x + size, y, x, y + size, kind)


def text(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "") -> str:
    """A line of text; `y` is where the letters stand."""
    named = f' class="{kind}"' if kind else ""
    place = f'x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}"'
    return f"<text{named} {place}>{escape(printable(words))}</text>"


def cut(words: str, most: int) -> str:
    """A name that fits into a picture."""
    return words if len(words) <= most else words[: most - 1] + "…"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
