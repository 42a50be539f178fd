"""What crosses to another machine and back: an order to grade one submission, and its result."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from harness.batch.entries import Entry
from harness.batch.run import Job, harness_digest, image_of, key_of
from harness.batch.store import Round, Stored
from harness.judge.budget import BUDGETS
from harness.judge.round import Options, not_graded
from harness.problems import BadPack, NoSuchProblem, default_pack, find_problem
from harness.remote.faults import OurFault
from harness.remote.session import Submission
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
        suite=_digest(job.problem.suite),
        key=key_of(entry, job.problem, job.round, image_of(job.sandbox)),
    )


def job_of(order: Order, gpu: str) -> Job:
    """The job as this machine does it; raise `NotHere` when it would not be the same one."""
    if order.harness != harness_digest():
        raise NotHere("the node has another harness")
    try:
        problem = find_problem(Path(order.pack) if order.pack else default_pack(), order.slug)
        suite = _digest(problem.suite)
    except (BadPack, NoSuchProblem, OSError) as error:
        first = str(error).partition("\n")[0]
        raise NotHere(f"the node has another pack: {first}") from None
    if order.suite != suite:
        raise NotHere(f"the node has another suite of {order.slug}")
    entry = Entry(order.candidate, order.slug, order.origin, order.source)
    job = Job(entry, problem, order.round, _sandbox(order.round.backend, gpu), None)
    if order.key != key_of(entry, problem, order.round, image_of(job.sandbox)):
        raise NotHere("the node has another image")
    return job


def failed(job: Job, reason: str, remedy: str) -> Stored:
    """The answer to an order that was not carried out: a fault of ours."""
    options = Options(job.round.seed, BUDGETS[job.round.budget], device=job.round.device)
    submission = Submission(job.problem.slug, job.entry.source, job.entry.origin)
    fault = OurFault(reason, remedy)
    result = not_graded(job.problem, submission, options, job.sandbox, fault)
    return Stored("", job.entry.candidate, job.entry.origin, result)


def _sandbox(backend: str, gpu: str) -> Sandbox:
    return DockerSandbox(gpu=gpu or None) if backend == "docker" else LocalSandbox()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
