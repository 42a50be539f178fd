"""The other way to run a round: on a Ray cluster, a task a submission.

A result comes home as bytes and is stored here, so a round goes on as one that ran on one machine.
Ray ends a process that speaks to a cluster when the cluster's head is lost: that is one of its own,
forked before there is anything of Ray's in it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Iterator
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess

import msgspec

from harness.batch.driver import NoCluster, connected, run_all_on
from harness.batch.outstanding import AGAIN, Place, place_of
from harness.batch.run import Job, given_up
from harness.batch.store import Stored
from harness.stopped import hear, whole
from harness.worker.processes import die_with_parent

STOP_LIMIT_S = 30.0  # for Ray to end what still runs for us
WELL = ""  # said first when there is a cluster; any other sentence is why there is none any more


def run_all_there(jobs: list[Job], at_once: int | None, *, address: str) -> Iterator[Stored]:
    """Grade every job on a cluster; results come as they finish, already stored.

    When the cluster is lost, what has no result is given up. Raises `NoCluster`.
    """
    left = {(job.entry.candidate, job.problem.slug): job for job in jobs}
    context = multiprocessing.get_context("fork")
    heard, says = context.Pipe(duplex=False)
    driver = context.Process(target=_drive, args=(jobs, at_once, address, says), daemon=False)
    try:
        with whole():
            driver.start()
            says.close()
        yield from _heard(heard, driver, left)
    finally:
        _stop(driver)
        heard.close()


def _heard(heard: Connection, driver: ForkProcess, left: dict[Place, Job]) -> Iterator[Stored]:
    """Each result as the driver says it; what it leaves behind when it has gone."""
    there, lost = False, ""
    with contextlib.suppress(EOFError):
        while True:
            said = msgspec.msgpack.decode(heard.recv_bytes(), type=Stored | str)
            if isinstance(said, Stored):
                del left[place_of(said)]
                yield said
            elif said and not there:
                raise NoCluster(said)
            there, lost = True, said if isinstance(said, str) else ""
    driver.join()
    why = lost or f"Ray ended what speaks to it ({driver.exitcode})"
    for job in left.values():
        yield given_up(job, f"the cluster was lost: {why}", AGAIN)


def _drive(jobs: list[Job], at_once: int | None, address: str, says: Connection) -> None:
    """The whole life of a driver. A Ctrl-C is not for it: whoever started it stops it, once."""
    os.setsid()
    die_with_parent()

    def say(what: Stored | str) -> None:
        says.send_bytes(msgspec.msgpack.encode(what))

    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        hear()
        try:
            ray = connected(address)
        except NoCluster as error:
            say(str(error))
            return
        say(WELL)
        try:
            for stored in run_all_on(ray, jobs, at_once):
                say(stored)
        except (ConnectionError, ray.exceptions.RayError) as error:
            say(f"{type(error).__name__}: {error}")


def _stop(driver: ForkProcess) -> None:
    """End it so that it ends what runs for it; one that does not is killed."""
    if driver.pid is None:
        return  # stopped before it was started
    if driver.is_alive():
        driver.terminate()
    driver.join(STOP_LIMIT_S)
    driver.kill()
    driver.join()
