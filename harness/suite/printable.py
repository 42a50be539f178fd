"""Text of a stranger's with everything written out that a terminal, page or log would obey."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text on one line, without a character that is not shown as itself."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )
