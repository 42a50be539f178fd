"""Which submissions of a round are alike beyond what everybody was handed out.

copydetect compares texts with every name replaced, so that a copy with other names is found. It is
given texts, never a path, and its pages are not used. What it finds is a question, not a verdict.
"""

from __future__ import annotations

import io
import multiprocessing
import signal
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from copydetect.detector import CodeFingerprint, compare_files
from copydetect.utils import get_token_coverage

from harness.batch.store import Stored
from harness.worker.processes import die_with_parent

SEQUENCE = 25  # characters, each name as one, that two texts share to have something in common
FROM_SHARE = 0.6  # of either text; right answers of different authors share at most 0.35
FEWEST_SHARED = 150  # characters, with every name as one: below, there is one way to write it
MOST_BYTES = 64 * 1024  # of one submission
MOST_COMPARED = 2_000  # submissions of one problem: a minute of comparing each with each
READ_LIMIT_S = 20.0  # for one text, which a stranger may have made slow to read


@dataclass(frozen=True, slots=True)
class Side:
    """One of two submissions: which part of it the other has too."""

    candidate: str
    share: float
    text: str
    shared: frozenset[int]  # lines, from 1


@dataclass(frozen=True, slots=True)
class Pair:
    """Two submissions that share more than independent answers do."""

    slug: str
    left: Side
    right: Side

    @property
    def share(self) -> float:
        """Of the one that is shared more."""
        return max(self.left.share, self.right.share)


@dataclass(frozen=True, slots=True)
class Alike:
    """The pairs, the most alike first, and what was not compared with why."""

    pairs: list[Pair]
    compared: int
    left_out: list[str]


@dataclass(frozen=True, slots=True)
class _Read:
    candidate: str
    text: str
    print: Any


def alike(
    graded: Iterable[Stored],
    handed_out: Mapping[str, list[str]],
    *,
    read_limit_s: float = READ_LIMIT_S,
) -> Alike:
    """Compare every two candidates' submissions to a problem.

    `handed_out` are the texts that everybody had, by problem: they are discounted.
    """
    by_slug: dict[str, list[Stored]] = defaultdict(list)
    for stored in graded:
        by_slug[stored.result.problem.slug].append(stored)
    pairs: list[Pair] = []
    left_out: list[str] = []
    compared = 0
    for slug, some in sorted(by_slug.items()):
        if len(some) > MOST_COMPARED:
            left_out.append(f"{slug}: {len(some):,} submissions are too many to compare")
            continue
        known = _hashes(handed_out.get(slug, []))
        read = list(_read(some, known, left_out, read_limit_s))
        compared += len(read)
        pairs += _pairs(slug, read)
    pairs.sort(key=lambda pair: (-pair.share, pair.slug, pair.left.candidate, pair.right.candidate))
    return Alike(pairs, compared, left_out)


def _hashes(texts: list[str]) -> frozenset[int]:
    return frozenset().union(*(_fingerprint(_text(text)).hashes for text in texts))


def _text(source: str) -> str:
    """The text with one kind of line ending, as copydetect's lexer counts it."""
    return source.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")


def _fingerprint(text: str) -> Any:
    lexed = io.StringIO(text.strip("\n"))  # the lexer drops empty lines at the ends
    found = CodeFingerprint("a.py", SEQUENCE, 1, language="python", fp=lexed)
    if len(found.offsets):  # which are of the start of the file after the name of a class
        found.offsets[:, 1] = np.maximum.accumulate(found.offsets[:, 1])
    return found


def _read(
    some: list[Stored], known: frozenset[int], left_out: list[str], limit_s: float
) -> Iterator[_Read]:
    """Each submission's fingerprint, made in another process that may be ended.

    The process is forked: hashes of text are comparable in one family of processes alone.
    """
    forked = multiprocessing.get_context("fork")
    pool = forked.Pool(1, _leave_quietly)
    try:
        for stored in some:
            text = _text(stored.result.submission.source)
            name = f"{stored.candidate}, {stored.result.problem.slug}"
            if len(text.encode()) > MOST_BYTES:
                left_out.append(f"{name}: more than {MOST_BYTES:,} bytes")
                continue
            try:
                found = pool.apply_async(_fingerprint, (text,)).get(limit_s)
            except multiprocessing.TimeoutError:
                left_out.append(f"{name}: takes more than {limit_s:.0f} s to read")
                pool.terminate()
                pool = forked.Pool(1, _leave_quietly)
                continue
            yield _Read(stored.candidate, text, _without(found, known))
    finally:
        pool.terminate()


def _leave_quietly() -> None:
    """End with whoever asked, without a word: the command's own handlers came along."""
    die_with_parent()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _without(found: Any, known: frozenset[int]) -> Any:
    """A fingerprint less what was handed out."""
    found.hashes = found.hashes - known
    found.hash_idx = {one: where for one, where in found.hash_idx.items() if one not in known}
    size = len(found.filtered_code)
    found.token_coverage = get_token_coverage(found.hash_idx, SEQUENCE, size)
    return found


def _pairs(slug: str, read: list[_Read]) -> Iterator[Pair]:
    for left, right in combinations(read, 2):
        fewer = min(len(left.print.hashes), len(right.print.hashes))
        if not fewer or len(left.print.hashes & right.print.hashes) < fewer * FROM_SHARE / 2:
            continue
        shared, shares, places = compare_files(left.print, right.print)
        if shared >= FEWEST_SHARED and max(shares) >= FROM_SHARE:
            sides = [
                Side(one.candidate, min(1.0, float(share)), one.text, _marked(one.text, place))
                for one, share, place in zip((left, right), shares, places, strict=True)
            ]
            yield Pair(slug, *sides)


def _marked(text: str, places: Any) -> frozenset[int]:
    """The lines that the other text has too."""
    ahead = len(text) - len(text.lstrip("\n"))
    marked: set[int] = set()
    for start, end in places.T:
        first, last = (text.count("\n", 0, ahead + max(0, int(at))) for at in (start, end - 1))
        marked.update(range(first + 1, last + 2))
    lines = text.split("\n")
    return frozenset(number for number in marked if lines[number - 1].strip())
