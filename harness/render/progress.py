"""How far a round is: a bar at a terminal, a plain line now and then anywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TextIO, TypeVar

import click

LINE_EVERY_S = 10.0
Each = TypeVar("Each")


def with_progress(
    running: Iterator[Each],
    total: int,
    done: int,
    out: TextIO,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Each]:
    """What runs, as it comes, with a word on `out` of how much is done and what time is left."""
    if done == total:
        yield from running
    elif out.isatty():
        yield from _with_bar(running, total - done, out)
    else:
        yield from _with_lines(running, total, done, out, clock)


def _with_bar(running: Iterator[Each], left: int, out: TextIO) -> Iterator[Each]:
    with click.progressbar(length=left, label="grading", file=out, show_pos=True) as bar:
        for each in running:
            bar.update(1)
            yield each


def _with_lines(
    running: Iterator[Each], total: int, done: int, out: TextIO, clock: Callable[[], float]
) -> Iterator[Each]:
    """A line every tenth of the round and every ten seconds, whatever comes less often."""
    started = said = clock()
    count, said_of = done, done
    for each in running:
        count += 1
        now = clock()
        if count == total or (now - said >= LINE_EVERY_S and (count - said_of) * 10 >= total):
            left = (now - started) / (count - done) * (total - count)
            out.write(f"grading {count} of {total}{_about(left)}\n")
            out.flush()
            said, said_of = now, count
        yield each


def _about(seconds: float) -> str:
    if not seconds:
        return ""
    if seconds < 60:
        return ", less than a minute left"
    if seconds < 5400:
        return f", about {seconds / 60:.0f} min left"
    return f", about {seconds / 3600:.0f} h left"
