"""What speaks to a Ray cluster: it gives the orders and takes the results home, one process long.

Ray places the tasks, counts cores, memory and GPUs, and starts a task again when its node is lost.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec

from harness.batch.node import KeeperLost, carry_out
from harness.batch.orders import INSTALL, order_of
from harness.batch.outstanding import AGAIN
from harness.batch.run import Job, given_up, kept
from harness.batch.store import Stored
from harness.judge.round import spec_for
from harness.suite.printable import printable

MOST_WAITING = 1000  # what Ray knows of at a time: enough for a cluster to see that it should grow
NODE_LOSSES = 3  # of one submission, before it is given up as a failure of ours
STORE_BYTES = 80 * 1024 * 1024  # results are small; this is what Ray wants at the least
CONNECT_LIMIT_S = 10.0
COLOURS = re.compile("\x1b\\[[0-9;]*m")
MOST_CHARS = 300  # of one line of Ray's


class NoCluster(Exception):
    """There is no cluster to run on; says why and what to do."""


def connected(address: str) -> Any:
    """Ray, connected: to the address, the cluster of this machine or the environment, or none yet.

    Ray puts a handler of its own in the place of ours, that would end us without clearing away.
    Raises `NoCluster`.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise NoCluster("Ray is not installed here\n  pip install 'harness[ray]'") from None
    named = address or os.environ.get("RAY_ADDRESS", "")
    _knock(named)
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    ours = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address or "auto", **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        if named:
            last = str(error).strip().rpartition("\n")[2]  # of a traceback, where there is one
            raise NoCluster(f"no cluster at {named}: {last}\n  see docs/cluster.md") from None
        ray.init("local", include_dashboard=False, object_store_memory=STORE_BYTES, **quiet)
    finally:
        signal.signal(signal.SIGTERM, ours)
    return ray


def run_all_on(ray: Any, jobs: list[Job], at_once: int | None) -> Iterator[Stored]:
    """Grade every job on a cluster; results come as they finish, already stored."""
    waiting = deque(jobs)
    running: dict[Any, Job] = {}
    said = contextlib.ExitStack()
    said.enter_context(contextlib.redirect_stdout(_RaysWords()))
    try:
        _say_if_none_fits(ray, jobs)
        while waiting or running:
            while waiting and len(running) < (at_once or MOST_WAITING):
                job = waiting.popleft()
                running[_task(ray, job).remote(msgspec.msgpack.encode(order_of(job)))] = job
            for ready in ray.wait(list(running))[0]:
                job = running.pop(ready)
                yield kept(job, _answer(ray, job, ready))
    finally:
        ray.shutdown()  # ends what still runs for us, there as well
        said.close()


class _RaysWords:
    """What Ray prints of lost tasks and missing resources: plain lines beside the progress.

    A name of a stranger's process may be among it.
    """

    def write(self, text: str) -> int:
        for line in COLOURS.sub("", text).splitlines():
            if line.startswith("("):  # what follows is a traceback
                sys.stderr.write(f"\n{printable(line)[:MOST_CHARS]}\n")
        return len(text)

    def flush(self) -> None:
        sys.stderr.flush()


def _knock(address: str) -> None:
    """Say at once that nobody answers at an address: Ray takes minutes for it."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address in ("", "auto", "local"):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_LIMIT_S).close()
    except (OSError, ValueError, OverflowError) as error:
        raise NoCluster(f"no cluster at {address}: {error}\n  see docs/cluster.md") from None


def _say_if_none_fits(ray: Any, jobs: list[Job]) -> None:
    """Say what a round waits for; a cluster that grows may bring it, another never does."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    for needs in {tuple(_needs(job).items()) for job in jobs}:
        if not any(all(node.get(what, 0) >= much for what, much in needs) for node in nodes):
            words = f"{dict(needs)['memory'] / 2**30:.0f} GiB of memory"
            words += " and a GPU" if dict(needs)["GPU"] else ""
            sys.stderr.write(f"no node has a core, {words} for a task: waiting for one\n")


def _needs(job: Job) -> dict[str, float]:
    """What one submission takes: a core, its memory, a GPU where it needs one."""
    device = job.round.device
    memory = spec_for(job.problem, device).memory_bytes
    return {"CPU": 1, "memory": memory, "GPU": 1 if device == "cuda" else 0}


def _task(ray: Any, job: Job) -> Any:
    needs = _needs(job)
    return ray.remote(carry_out).options(
        num_cpus=needs["CPU"],
        num_gpus=needs["GPU"],
        memory=needs["memory"],
        max_retries=NODE_LOSSES,
        retry_exceptions=[KeeperLost],
        name=f"grade {job.problem.slug}",  # no candidate's name in a cluster's lists
    )


def _answer(ray: Any, job: Job, ready: Any) -> Stored:
    try:
        raw = ray.get(ready)
    except ray.exceptions.RayTaskError as error:
        return _failed_task(job, error)
    except ray.exceptions.RayError as error:
        why = f"the cluster lost it {NODE_LOSSES + 1} times: {type(error).__name__}"
        return given_up(job, why, AGAIN)
    said = msgspec.msgpack.decode(raw, type=Stored | str)
    return given_up(job, said, INSTALL) if isinstance(said, str) else said


def _failed_task(job: Job, error: Any) -> Stored:
    cause = error.cause
    if isinstance(cause, ImportError):
        return given_up(job, f"the node has another harness, or none: {cause}", INSTALL)
    return given_up(job, f"the task failed: {type(cause).__name__}: {cause}", AGAIN)
