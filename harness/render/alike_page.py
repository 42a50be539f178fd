"""Submissions that are alike: a list for the terminal, and one HTML page with them side by side."""

from __future__ import annotations

from collections.abc import Iterator

from harness.batch.alike import Alike, Side
from harness.render.plain import logged
from harness.render.source import Line, shown_text
from harness.render.templates import embedded, template

MOST_LISTED = 20
MOST_SHOWN = 100
QUESTION = "A question for a person, not a verdict: no level has changed."


def alike_lines(found: Alike) -> Iterator[str]:
    """The pairs, a line each, and what was not compared."""
    yield f"{found.compared} submissions compared, {_pairs(found)}."
    for pair in found.pairs[:MOST_LISTED]:
        left, right = (f"{percent(side)} of {side.candidate}" for side in (pair.left, pair.right))
        yield logged(f"  {pair.slug}: {left}, {right}")
    if len(found.pairs) > MOST_LISTED:
        yield f"  and {len(found.pairs) - MOST_LISTED:,} more"
    for why in found.left_out:
        yield logged(f"  not compared: {why}")
    if found.pairs:
        yield QUESTION


def alike_page(found: Alike, *, index: str = "") -> str:
    """The page. Only its own style is allowed to apply, whatever a text holds.

    `index` is the address of the page of the round, when there is one.
    """
    return template("alike.html.j2").render(
        found=found,
        title=_pairs(found),
        shown=found.pairs[:MOST_SHOWN],
        index=index,
        percent=percent,
        lines=lines,
        question=QUESTION,
        style=embedded("report.css", "alike.css"),
    )


def percent(side: Side) -> str:
    """How much of a submission is shared."""
    return f"{side.share:.0%}"


def lines(side: Side) -> list[Line]:
    """A submission's lines as they may be shown; those that are shared are marked."""
    texts = side.text.rstrip("\n").split("\n")
    return [Line(n, shown_text(text), n in side.shared) for n, text in enumerate(texts, start=1)]


def _pairs(found: Alike) -> str:
    if not found.pairs:
        return "none is like another"
    return f"{len(found.pairs):,} pair{'s are' if len(found.pairs) > 1 else ' is'} alike"
