"""A process beside the judge that draws the examples of the last checks while the first are run.

It only ever saves time: what it has not drawn, or cannot hand over, is drawn by the judge itself,
and what breaks on its examples is run again by Hypothesis, as with examples drawn ahead.
"""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import pickle
import resource
import signal
import struct
import tempfile
import warnings
from typing import Any

import pytest

from harness.judge.ahead import examples_of, one_thread
from harness.judge.examples import Drawn
from harness.stopped import whole
from harness.suite.claims import ATTRIBUTE
from harness.worker.processes import die_with_parent

PLACE = struct.Struct("=q")  # of a check in the suite's order
TOLD = struct.Struct("=qqq")  # its place, where its examples begin and how many bytes they are
MOST_BYTES = 256 * 1024 * 1024  # of examples, on disk


class Beside:
    """Both ends. The judge asks `get`; the other process is forked once the suite is imported."""

    def __init__(self) -> None:
        self._order: list[str] = []
        self._pid = 0
        self._places: dict[str, tuple[int, int]] = {}
        self._reached = mmap.mmap(-1, PLACE.size)  # the check that the judge is at
        self._kept = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `end`
        self._hears, self._says = multiprocessing.get_context("fork").Pipe(duplex=False)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        """Start, when the checks have their order, their seed and their budget."""
        self._order = [getattr(item.obj, ATTRIBUTE).id for item in items]
        with whole(), warnings.catch_warnings(), contextlib.suppress(OSError):
            warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
            self._pid = os.fork()
            if not self._pid:
                self._draw_and_exit(items)
        self._says.close()

    def get(self, check: str) -> Drawn | None:
        """The examples of the check that the judge is at; None where it has to draw them."""
        position = self._order.index(check) if check in self._order else 0
        self._reached[:] = PLACE.pack(position)
        with contextlib.suppress(EOFError):  # it has drawn all that it could
            while self._hears.poll(0):
                at, start, size = TOLD.unpack(self._hears.recv_bytes())
                self._places[self._order[at]] = (start, size)
        start, size = self._places.get(check, (0, 0))
        if not size:
            return None
        try:
            drawn: Drawn = pickle.loads(os.pread(self._kept.fileno(), size, start))
        except Exception:  # noqa: BLE001 - whatever a class of the suite makes of it
            return None
        return drawn

    def end(self) -> None:
        """End it, wherever it is."""
        if self._pid:
            with contextlib.suppress(OSError):
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
        for each in (self._hears, self._says, self._kept, self._reached):
            each.close()

    def _draw_and_exit(self, items: list[pytest.Function]) -> None:
        """The whole life of the process beside: from the last check to the one being judged."""
        try:
            die_with_parent()
            self._let_go_of_the_rest()
            with one_thread():
                self._draw(items)
        except BaseException:  # noqa: BLE001 - the judge draws what is missing
            pass
        finally:
            os._exit(0)

    def _let_go_of_the_rest(self) -> None:
        """A worker ends when nobody holds the other end of its stream: it is the judge's alone."""
        first, second = sorted((self._kept.fileno(), self._says.fileno()))
        os.closerange(3, first)
        os.closerange(first + 1, second)
        os.closerange(second + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])

    def _draw(self, items: list[Any]) -> None:
        start = 0
        for position in reversed(range(len(items))):
            if position <= PLACE.unpack(self._reached[:])[0] or start > MOST_BYTES:
                return
            check = items[position].obj
            drawn = examples_of(check) if hasattr(check, "hypothesis") else None
            if drawn is None:
                continue
            with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):
                held = pickle.dumps(drawn)
                if os.pwrite(self._kept.fileno(), held, start) < len(held):
                    return
                self._says.send_bytes(TOLD.pack(position, start, len(held)))
                start += len(held)
