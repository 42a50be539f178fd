"""Markdown in 80 plain columns: paragraphs and list items are wrapped, code and tables are not."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from harness.render.terminal import WIDTH

FENCE = "```"
ITEM = re.compile(r"(\s*)(?:[-*]|\d+\.) +")
CODE = re.compile("`[^`]{1,40}`")  # short enough to be kept in one line
HELD = "\0"  # a space that no line ends at
ALONE = ("#", "|", "    ")  # headings, tables and indented code stay as they are


def wrapped(text: str) -> str:
    """The same text, its paragraphs filled anew."""
    return "\n".join(_lines(text.splitlines())) + "\n"


def _lines(lines: list[str]) -> Iterator[str]:
    paragraph: list[str] = []
    in_code = False
    for line in lines:
        fence = line.lstrip().startswith(FENCE)
        alone = in_code or fence or not line.strip() or (line.startswith(ALONE) and not paragraph)
        if alone or line.startswith("#") or ITEM.match(line):
            yield from _filled(paragraph)
            paragraph = []
        in_code ^= fence
        if alone or line.startswith("#"):
            yield line
        else:
            paragraph.append(line)
    yield from _filled(paragraph)


def _filled(paragraph: list[str]) -> list[str]:
    if not paragraph:
        return []
    first = paragraph[0]
    item = ITEM.match(first)
    lead = re.match(r"\s*", first)
    assert lead is not None
    text = CODE.sub(lambda code: code[0].replace(" ", HELD), " ".join(map(str.strip, paragraph)))
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=lead[0],
        subsequent_indent=" " * (len(item[0]) if item else len(lead[0])),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(HELD, " ") for line in lines]
