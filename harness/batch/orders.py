"""What crosses to another machine and back: an order to grade one submission, and its result."""

from __future__ import annotations

from pathlib import Path

import msgspec

from harness.batch.entries import Entry
from harness.batch.run import Job, harness_digest, key_of
from harness.batch.store import Round
from harness.problems import BadPack, NoSuchProblem, default_pack, find_problem
from harness.sandbox.base import Sandbox
from harness.sandbox.docker import DockerSandbox
from harness.sandbox.local import LocalSandbox

INSTALL = "install the harness that grades on every node, with the same pack"


class Order(msgspec.Struct, frozen=True):
    """One submission to grade elsewhere: plain data, with what has to be the same there."""

    candidate: str
    slug: str
    origin: str
    source: bytes
    round: Round
    pack: str  # empty: the one that came with the harness
    harness: str  # digests, for the words when they differ
    suite: str
    key: str


class NotHere(Exception):
    """This machine cannot do as it was told: another harness or pack is installed on it."""


def order_of(job: Job) -> Order:
    """The order that has a job done elsewhere."""
    pack = job.problem.pack
    entry = job.entry
    return Order(
        candidate=entry.candidate,
        slug=entry.slug,
        origin=entry.origin,
        source=entry.source,
        round=job.round,
        pack="" if pack == default_pack() else str(pack.resolve()),
        harness=harness_digest(),
        suite=job.problem.suite_sha256(),
        key=key_of(entry, job.problem, job.round, job.sandbox.image),
    )


def job_of(order: Order, gpu: str) -> Job:
    """The job as this machine does it; raise `NotHere` when it would not be the same one."""
    if order.harness != harness_digest():
        raise NotHere("the node has another harness")
    try:
        problem = find_problem(Path(order.pack) if order.pack else default_pack(), order.slug)
        suite = problem.suite_sha256()
    except (BadPack, NoSuchProblem, OSError) as error:
        first = str(error).partition("\n")[0]
        raise NotHere(f"the node has another pack: {first}") from None
    if order.suite != suite:
        raise NotHere(f"the node has another suite of {order.slug}")
    entry = Entry(order.candidate, order.slug, order.origin, order.source)
    job = Job(entry, problem, order.round, _sandbox(order.round.backend, gpu), None)
    if order.key != key_of(entry, problem, order.round, job.sandbox.image):
        raise NotHere("the node has another image")
    return job


def _sandbox(backend: str, gpu: str) -> Sandbox:
    return DockerSandbox(gpu=gpu or None) if backend == "docker" else LocalSandbox()
