"""Bytes that a hostile worker may answer with, made from a seed, and a judge to read them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec

from harness.border.frames import PREFIX, TO_CHILD, TO_PARENT
from harness.border.messages import (
    Ended,
    Failed,
    Loaded,
    Message,
    Returned,
    Run,
    Skipped,
    Trace,
    Where,
)
from harness.remote.faults import CandidateFault
from harness.suite.candidate import Candidate
from tests.border.peer import candidate_of, written

ODD_NUMBERS = (-(2**63), -(2**31), -1, 0, 1, 63, 64, 65, 2**31, 2**40, 2**61, 2**63 - 1, 2**64 - 1)
KINDS = (
    "tuple",
    "set",
    "dict",
    "int",
    "object",
    "opaque",
    "dtype",
    "tensor",
    "pickle",
    "",
    "\ud7ff",
)
DTYPES = ("bool", "float32", "int64", "uint8", "complex64", "float16\n", "")
WORDS = ("", "x", "builtins.ValueError", "\x1b[31m", "::error::x", "0x1f", "-0x" + "f" * 1100)


def plain(random: random.Random, depth: int = 0) -> Any:
    """Something that msgpack can write: often nearly a value, rarely one."""
    choice = random.randrange(12 if depth < 6 else 6)
    if choice < 6:
        return _scalar(random, choice)
    if choice < 8:
        return [plain(random, depth + 1) for _ in range(random.randrange(4))]
    if choice == 8:
        return {random.choice(KINDS): plain(random, depth + 1) for _ in range(random.randrange(3))}
    if choice == 9:
        return _tensor(random)
    if choice == 10:
        return {
            random.choice(KINDS): [plain(random, depth + 1) for _ in range(random.randrange(3))]
        }
    return {"dict": [[plain(random, depth + 1), 0] for _ in range(random.randrange(3))]}


def _scalar(random: random.Random, choice: int) -> Any:
    if choice == 0:
        return random.choice(ODD_NUMBERS)
    if choice == 1:
        return random.choice(WORDS)
    if choice == 2:
        return random.randbytes(random.randrange(8))
    if choice == 3:
        return random.choice([float("nan"), float("inf"), -0.0, 1e308])
    return random.choice([None, True, False, random.randrange(-40, 300)])


def _tensor(random: random.Random) -> Any:
    shape = [random.choice([0, 1, 2, 3, *ODD_NUMBERS[:9]]) for _ in range(random.randrange(4))]
    strides = [random.choice(ODD_NUMBERS) for _ in shape] if random.random() < 0.3 else []
    numbers = [random.choice([0, 4, 8, 64, *ODD_NUMBERS]) for _ in range(3)]
    return {"tensor": [random.choice(DTYPES), shape, strides, *numbers, "cpu"]}


def answer(random: random.Random, run: Run) -> bytes:
    """The bytes that this run is answered with."""
    raw = written(
        _message(random, run), _channel(random), [random.randbytes(random.choice([0, 64]))]
    )
    for _ in range(random.choice([0, 0, 1, 3])):
        raw = random.choice(MUTATIONS)(random, raw)
    return raw


def _channel(random: random.Random) -> int:
    return TO_PARENT if random.random() < 0.02 else TO_CHILD


def _message(random: random.Random, run: Run) -> Message:
    if random.random() < 0.05:
        return random.choice(
            [Loaded(["f"]), Ended(0, 0, random.choice([-1, 0, 2**62]), False, False, "", b"")]
        )
    number = run.id if random.random() < 0.95 else random.randrange(2**62)
    return Trace(number, [_reply(random, step.id) for step in run.steps])


def _reply(random: random.Random, number: int) -> Returned | Failed | Skipped:
    choice = random.random()
    if choice < 0.05:
        return Skipped(number)
    after = plain(random) if random.random() < 0.3 else None
    observed = plain(random) if random.random() < 0.3 else None
    if choice < 0.2:
        where = Where(
            random.choice(WORDS),
            list(WORDS[:3]),
            random.choice(WORDS),
            random.choice(ODD_NUMBERS),
            "",
        )
        return Failed(number, where, after, observed)
    return Returned(number, plain(random), after, observed)


def _flip(random: random.Random, raw: bytes) -> bytes:
    if not raw:
        return raw
    where = random.randrange(len(raw))
    return raw[:where] + bytes([raw[where] ^ (1 << random.randrange(8))]) + raw[where + 1 :]


def _cut(random: random.Random, raw: bytes) -> bytes:
    return raw[: random.randrange(len(raw) + 1)]


def _insert(random: random.Random, raw: bytes) -> bytes:
    where = random.randrange(len(raw) + 1)
    return raw[:where] + random.randbytes(random.randrange(1, 9)) + raw[where:]


def _lie(random: random.Random, raw: bytes) -> bytes:
    """Another length than the frame has."""
    lengths = [
        len(raw),
        random.choice([0, 1, 2**21, 2**32 - 1]),
        random.choice([0, 64, 2**29, 2**63]),
    ]
    return PREFIX.pack(1, random.choice(lengths[:2]) % 2**32, lengths[2]) + raw[PREFIX.size :]


def _nest(random: random.Random, raw: bytes) -> bytes:
    body = random.choice([b"\x91", b"\x81\xa1x", b"\xc7\x01\x01"]) * random.choice([30, 600, 3000])
    return PREFIX.pack(1, len(body), 0) + body


def _random(random: random.Random, raw: bytes) -> bytes:
    return random.randbytes(random.randrange(200))


def _any_map(random: random.Random, raw: bytes) -> bytes:
    body = msgspec.msgpack.encode({"kind": random.choice(["Trace", "Run", 3]), "id": plain(random)})
    return PREFIX.pack(1, len(body), 0) + body


Mutation = Callable[[random.Random, bytes], bytes]
MUTATIONS: tuple[Mutation, ...] = (_flip, _flip, _cut, _insert, _lie, _nest, _random, _any_map)


class Judged:
    """A judge that asks one question a seed, and what it makes of the answers."""

    def __init__(self, *, preload: tuple[str, ...] = ()) -> None:
        self._seed = 0
        self._candidate: Candidate = candidate_of(self._answer, preload=preload)

    def _answer(self, run: Run) -> bytes:
        return answer(random.Random(self._seed), run)

    def ask(self, seed: int) -> None:
        """Two calls in one trip, as a suite asks; raises what the judge raises."""
        self._seed = seed
        self._candidate.begin_example()
        program = self._candidate.program()
        made = program.Cache([1, 2])
        made.update({"a": 1})
        try:
            program.run()
        except CandidateFault:
            self.close()
            raise

    def close(self) -> None:
        self._candidate._session.close()
