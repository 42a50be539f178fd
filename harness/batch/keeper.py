"""A warm process beside a Ray worker: judges are forked from it, one an order.

Ray's own process has threads that a fork would break, and holds the cluster's connections: no
judge is forked from it, and no sandbox is started by it.
"""

from __future__ import annotations

import os
import sys
from multiprocessing.connection import Connection

import msgspec

from harness.batch.orders import NotHere, Order, job_of
from harness.batch.run import run_all, warm
from harness.worker.processes import die_with_parent


def main(handle: int, gpu: str) -> None:
    """Carry out orders until nobody is there to give any.

    An answer is a stored result, or a sentence when the order cannot be carried out here.
    """
    die_with_parent()
    os.dup2(2, 1)  # what anybody prints is not for whoever reads our answers
    with Connection(handle) as wire:
        while True:
            try:
                order = msgspec.msgpack.decode(wire.recv_bytes(), type=Order)
            except EOFError:
                return
            wire.send_bytes(msgspec.msgpack.encode(_carried_out(order, gpu)))


def _carried_out(order: Order, gpu: str) -> object:
    try:
        job = job_of(order, gpu)
    except NotHere as why:
        return str(why)
    warm([job.problem])
    return next(run_all([job], 1))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
