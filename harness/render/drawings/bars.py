"""A distribution: for each outcome the probability wanted and the share drawn."""

from __future__ import annotations

from collections.abc import Iterator

from harness.render.svg import WIDTH, Drawing, cut, picture, rect, text
from harness.suite.pictures import Distribution

NAMES = 64
NUMBERS = 48
ROOM = WIDTH - NAMES - NUMBERS
BAR = 9
A_ROW = 2 * BAR + 8
TOP = 3


def draw(distribution: Distribution) -> Drawing:
    """Two bars for each outcome, to one scale."""
    got = dict(distribution.got)
    pairs = [(name, share, got.get(name, 0.0)) for name, share in distribution.wanted]
    most = max((max(wanted, found) for _, wanted, found in pairs), default=0.0) or 1.0
    parts = [part for i, pair in enumerate(pairs) for part in _pair(i * A_ROW, *pair, most)]
    label = f"Probabilities wanted and shares of {distribution.draws:,} draws"
    return Drawing(
        picture(parts, height=A_ROW * max(len(pairs), 1), label=label), _caption(distribution)
    )


def _pair(y: float, name: str, wanted: float, got: float, most: float) -> Iterator[str]:
    yield text(2, y + TOP + BAR + 4, cut(name, 9))
    for offset, share, kind in ((TOP, wanted, "wanted"), (TOP + BAR + 1, got, "got")):
        length = ROOM * share / most
        yield rect(NAMES, y + offset, max(length, 0.5), BAR, kind)
        yield text(NAMES + length + 4, y + offset + BAR - 1, f"{share:.4g}", kind="small")


def _caption(distribution: Distribution) -> str:
    rest = (
        f" {distribution.left_out:,} closer outcomes are left out." if distribution.left_out else ""
    )
    return (
        "For each outcome, above and outlined, the probability wanted; below and filled, its "
        f"share of {distribution.draws:,} draws.{rest}"
    )
