"""Judges forked from a warm parent: as many at work as there is room, and the next getting ready.

A judge that waits for its turn has started its sandbox: what an engine and an import take is over,
as a rule, when its turn comes.
"""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from typing import TYPE_CHECKING

import msgspec

from harness.batch.run import TRIES, Job, begin, given_up, run
from harness.batch.store import Stored
from harness.stopped import hear, whole
from harness.worker.processes import die_with_parent

if TYPE_CHECKING:
    from harness.judge.ahead import Ahead

STOP_LIMIT_S = 10.0
READY = 1  # judges beyond those at work; their sandboxes hold memory, and no GPU may


@dataclass(slots=True)
class Judging:
    """One judge's process, and its two pipes."""

    job: Job
    tries: int  # left after this one
    process: ForkProcess
    heard: Connection
    turn: Connection
    at_work: bool = False

    def go(self) -> None:
        """Its turn has come; one that died before is noticed by its silence."""
        if not self.at_work:
            self.at_work = True
            with contextlib.suppress(OSError):
                self.turn.send_bytes(b"go")

    def said(self) -> Stored | None:
        """What it sent; None when it ended without a word."""
        with self.heard, self.turn:
            try:
                return msgspec.msgpack.decode(self.heard.recv_bytes(), type=Stored)
            except (EOFError, OSError, msgspec.DecodeError):  # or in the middle of one
                return None
            finally:
                self.process.join()


def run_all(
    jobs: list[Job], at_once: int, *, ahead: Mapping[str, Ahead] | None = None
) -> Iterator[Stored]:
    """Grade every job, each in a judge of its own; results come as they finish, already stored.

    A judge that is killed takes no other job with it: its own is tried once more.
    """
    waiting = [(job, TRIES) for job in reversed(jobs)]
    judges: list[Judging] = []
    try:
        while waiting or judges:
            while waiting and len(judges) < at_once + _ready(waiting[-1][0]):
                job, tries = waiting.pop()
                with whole():  # a judge that nobody knows of would be waited for, and wait
                    judges.append(_start(job, (ahead or {}).get(job.problem.slug), tries - 1))
            for judging in judges[:at_once]:
                judging.go()
            for ready in connection.wait([judging.heard for judging in judges]):
                judging = next(one for one in judges if one.heard is ready)
                judges.remove(judging)
                stored = judging.said()
                if stored is not None:
                    yield stored
                elif judging.tries:
                    waiting.append((judging.job, judging.tries))
                else:
                    yield _lost(judging)
    finally:
        _stop(judges)


def _ready(job: Job) -> int:
    return 0 if job.round.device == "cuda" else READY


def _start(job: Job, ahead: Ahead | None, tries: int) -> Judging:
    context = multiprocessing.get_context("fork")
    heard, says = context.Pipe(duplex=False)
    waits, turn = context.Pipe(duplex=False)
    process = context.Process(target=_judge, args=(job, ahead, says, waits), daemon=False)
    process.start()
    says.close()
    waits.close()
    return Judging(job, tries, process, heard, turn)


def _judge(job: Job, ahead: Ahead | None, says: Connection, turn: Connection) -> None:
    """The whole life of one judge."""
    die_with_parent()
    with contextlib.suppress(KeyboardInterrupt):  # whoever was stopped says so
        hear()
        session = begin(job)
        with contextlib.closing(session):
            if _comes(turn):
                says.send_bytes(msgspec.msgpack.encode(run(job, ahead, session)))


def _comes(turn: Connection) -> bool:
    """Wait for it; False when whoever gives turns is gone."""
    try:
        return bool(turn.recv_bytes())
    except EOFError:
        return False


def _lost(judging: Judging) -> Stored:
    reason = f"the judge was ended ({judging.process.exitcode}), {TRIES} times"
    return given_up(judging.job, reason, "harness doctor")


def _stop(left: list[Judging]) -> None:
    """End judges so that they end their sandboxes, and those that do not."""
    for judging in left:
        judging.process.terminate()
    for judging in left:
        judging.process.join(STOP_LIMIT_S)
        judging.process.kill()
