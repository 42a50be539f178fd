"""Two results side by side on a terminal: level, the checks on which they differ, findings."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from harness.render.comparison import Comparison, careful, counted, facts
from harness.render.plain import unheeded
from harness.render.terminal import SHORT, WIDTH, finding_lines
from harness.suite.printable import printable

LABEL, COLUMN, STATUS = 15, 26, 8


def side_by_side(comparison: Comparison, names: tuple[str, str], *, every: bool) -> Iterator[str]:
    """The lines for a terminal, 80 columns; the verdicts last. `every` shows each finding."""
    for line in _lines(comparison, names, every=every):
        yield unheeded(printable(line))


def _lines(comparison: Comparison, names: tuple[str, str], *, every: bool) -> Iterator[str]:
    a, b = comparison.a, comparison.b
    yield from _wrapped(f"{a.problem.slug}   {a.problem.title}", "", "  ")
    yield ""
    for letter, name in zip("AB", names, strict=True):
        yield from _wrapped(printable(name), f"  {letter}  ", "     ")
    yield ""
    for label, left, right in [("", "A", "B"), *facts(a, b)]:
        yield f"  {label:<{LABEL}}{left:<{COLUMN}}{right}".rstrip()
    yield ""
    for letter, result in (("A", a), ("B", b)):
        if result.reasons:
            yield from _wrapped("; ".join(result.reasons), f"  {letter}: ", "     ")
    care = list(careful(a, b))
    if care:
        yield ""
        yield from _wrapped("; ".join(care), "Compare with care: ", "  ")
    yield ""
    yield from _checks(comparison)
    for letter, check in comparison.findings[: None if every else 1]:
        yield f"In {letter},"
        yield from finding_lines(check, asked=False)
    yield from _wrapped(counted(comparison), "", "")
    yield f"A: {a.level}.  B: {b.level}."


def _checks(comparison: Comparison) -> Iterator[str]:
    """One line a check on which they differ."""
    if not comparison.differing:
        return
    yield f"  {'A':<{STATUS}}B"
    for pair in comparison.differing:
        left, right = (SHORT.get(status, status) for status in pair.statuses)
        words = f"{pair.either.claim} ({pair.either.kind}, {pair.either.requirement})"
        yield from _wrapped(words, f"  {left:<{STATUS}}{right:<{STATUS}}", " " * 18)
    yield ""


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    """Wrapped text; a word that is wider than a line goes on in the next one, and is never cut."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    ) or [first]
