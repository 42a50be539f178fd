"""A warm process beside a Ray worker: judges are forked from it, one an order.

Ray's own process has threads that a fork would break, and holds the cluster's connections: no
judge is forked from it, and no sandbox is started by it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from multiprocessing.connection import Connection

import msgspec

from harness.batch.judges import run_all
from harness.batch.orders import NotHere, Order, job_of
from harness.batch.run import warm
from harness.stopped import on_signals, stop
from harness.worker.processes import PR_SET_PDEATHSIG, die_with_parent


def main(handle: int, gpu: str) -> None:
    """Carry out orders until nobody is there to give any.

    An answer is a stored result, or a sentence when the order cannot be carried out here.
    """
    _stand_behind_another()
    os.dup2(2, 1)  # what anybody prints is not for whoever reads our answers
    with Connection(handle) as wire:
        while True:
            try:
                order = msgspec.msgpack.decode(wire.recv_bytes(), type=Order)
            except EOFError:
                return
            wire.send_bytes(msgspec.msgpack.encode(_carried_out(order, gpu)))


def _stand_behind_another() -> None:
    """Let a process in front be the one that Ray kills with its worker: at its end we are stopped,
    and have time to end the judges, who end their sandboxes.
    """
    on_signals(stop)
    child = os.fork()
    if child:
        die_with_parent()
        os.closerange(3, 1024)
        os._exit(abs(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _carried_out(order: Order, gpu: str) -> object:
    try:
        job = job_of(order, gpu)
    except NotHere as why:
        return str(why)
    warm([job.problem])
    return next(run_all([job], 1))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(int(sys.argv[1]), sys.argv[2])
