"""On a node of a Ray cluster: what Ray's worker process does, which is to ask its keeper."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from functools import cache

RAYS_OWN = ("OMP_NUM_THREADS",)  # set by Ray for its tasks; a judge counts as it does elsewhere


class KeeperLost(Exception):
    """The process that judges was ended; Ray tries the order again."""


class Keeper:
    """A keeper that is started once a worker of Ray's and GPU, and ends with it."""

    def __init__(self, gpu: str) -> None:
        self._wire, theirs = multiprocessing.Pipe()
        environment = {k: v for k, v in os.environ.items() if k not in RAYS_OWN}
        if gpu:
            environment["CUDA_VISIBLE_DEVICES"] = gpu
        command = [sys.executable, "-I", "-m", "harness.batch.keeper", str(theirs.fileno()), gpu]
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def ask(self, order: bytes) -> bytes:
        """Have one order carried out; raise `KeeperLost` when there is no answer."""
        try:
            self._wire.send_bytes(order)
            return self._wire.recv_bytes()
        except (EOFError, OSError):
            self._wire.close()
            self._process.kill()
            raise KeeperLost(f"the judge's keeper was ended ({self._process.wait()})") from None


def carry_out(order: bytes) -> bytes:
    """The task: an order's bytes to its answer's."""
    import ray

    given = ray.get_gpu_ids()
    try:
        return _keeper(str(given[0]) if given else "").ask(order)
    except KeeperLost:
        _keeper.cache_clear()
        raise


@cache
def _keeper(gpu: str) -> Keeper:
    return Keeper(gpu)
