"""Which of the candidate's lines to show beside a finding, and how long their functions are."""

from __future__ import annotations

import io
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from harness.suite.printable import printable

MOST_LINES = 36  # of one function beside a finding
MOST_LINES_OF_SEVERAL = 26
MOST_CHARS = 160  # of one line
KEYWORDS = ("def", "class")


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or class and the lines it takes; `owner` is the class it stands in."""

    keyword: str
    name: str
    owner: str
    first: int
    last: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Line:
    """A numbered line; `marked` where a fault happened."""

    number: int
    text: str
    marked: bool = False


@dataclass(slots=True)
class _Open:
    keyword: str
    first: int
    depth: int
    name: str = ""


@lru_cache(maxsize=1)  # a report asks for those of one file, once a finding
def definitions(source: str) -> list[Definition]:
    """The functions and classes of a file by their lines, also of one that does not compile.

    Read from tokens: a parser could be brought down by what a stranger nests.
    """
    found: list[Definition] = []
    try:
        for definition in _closed(tokenize.generate_tokens(io.StringIO(plain(source)).readline)):
            found.append(definition)
    except (tokenize.TokenError, SyntaxError, RecursionError):
        pass  # what stands before the fault is known all the same
    return sorted(found, key=lambda one: (one.first, -one.last))


def _closed(tokens: Iterator[tokenize.TokenInfo]) -> Iterator[Definition]:
    """Each definition when its last line has been read."""
    stack: list[_Open] = []
    depth = last = 0
    ended = False  # a logical line has just ended: without an indent, a one-line body has too
    for token in tokens:
        if token.type == tokenize.ERRORTOKEN:  # each further one could take as long as the file
            break
        if token.type in (tokenize.NL, tokenize.COMMENT):
            continue
        if ended and token.type != tokenize.INDENT:
            yield from _leave(stack, depth, last)
        ended = token.type == tokenize.NEWLINE
        if token.type == tokenize.INDENT:
            depth += 1
        elif token.type == tokenize.DEDENT:
            depth -= 1
            yield from _leave(stack, depth, last)
        elif token.type == tokenize.NEWLINE:
            last = token.start[0]
        elif token.type == tokenize.NAME:
            if stack and not stack[-1].name:
                stack[-1].name = token.string
            elif token.string in KEYWORDS:
                stack.append(_Open(token.string, token.start[0], depth))
    yield from _leave(stack, 0, last)


def _leave(stack: list[_Open], depth: int, last: int) -> Iterator[Definition]:
    """Close what was opened at this depth or deeper."""
    while stack and stack[-1].depth >= depth:
        done = stack.pop()
        owner = stack[-1].name if stack and stack[-1].keyword == "class" else ""
        yield Definition(done.keyword, done.name, owner, done.first, last)


def plain(source: str) -> str:
    """The text with one kind of line ending, as Python counts its lines."""
    return source.replace("\r\n", "\n").replace("\r", "\n")


def longest_function(source: str) -> Definition | None:
    """The function with the most lines; the first of equals."""
    functions = [one for one in definitions(source) if one.keyword == "def"]
    return max(functions, key=lambda one: one.length, default=None)


def excerpt(source: str, *, calls: list[str], line: int) -> list[list[Line]]:
    """The lines to read beside a finding: around the fault, or the functions called last."""
    known = definitions(source)
    if line:
        inside = [one for one in known if one.first <= line <= one.last and one.keyword == "def"]
        around = min(inside, key=lambda one: one.length, default=None)
        return [_lines(source, around, line)]
    blocks: list[list[Line]] = []
    room = MOST_LINES_OF_SEVERAL
    for name in reversed(calls):
        definition = _called(known, name, calls)
        if definition is None:
            continue
        if blocks and definition.length > room:
            break
        blocks.append(_lines(source, definition, 0))
        room -= definition.length
    return blocks[::-1]


def start_line(source: str, *, calls: list[str], line: int) -> int:
    """The line that a finding is about: the fault's, or where the last function called begins."""
    if line:
        return line
    known = definitions(source)
    last = next((one for name in reversed(calls) if (one := _called(known, name, calls))), None)
    return last.first if last else 1


def _called(known: list[Definition], name: str, calls: list[str]) -> Definition | None:
    """What a call by this name runs: a function, a method, or a class's constructor."""
    if any(one.keyword == "class" and one.name == name for one in known):
        return next((o for o in known if o.owner == name and o.name == "__init__"), None)
    named = [one for one in known if one.keyword == "def" and one.name == name]
    return max(named, key=lambda one: (one.owner in calls, one.length), default=None)


def _lines(source: str, around: Definition | None, marked: int) -> list[Line]:
    every = plain(source).split("\n")
    first, last = (around.first, around.last) if around else (marked - 6, marked + 6)
    if last - first >= MOST_LINES:
        first = max(first, min(marked - MOST_LINES // 2, last - MOST_LINES + 1))
        last = first + MOST_LINES - 1
    shown = range(max(first, 1), min(last, len(every)) + 1)
    if not shown:  # a worker names any line, also one that its file does not have
        return []
    texts = textwrap.dedent("\n".join(shown_text(every[n - 1]) for n in shown)).split("\n")
    return [Line(n, text, n == marked) for n, text in zip(shown, texts, strict=True)]


def shown_text(line: str) -> str:
    """A line of the file as it may be shown: nothing in it is obeyed by what shows it."""
    text = printable(line.expandtabs(4).rstrip())
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS - 1] + "…"
