"""Whatever bytes a worker sends, the judge names a fault or has an answer: nothing else."""

from __future__ import annotations

import tracemalloc
from typing import Any

import msgspec
import pytest

from harness.border.messages import Failed, Returned, Run, Skipped, Trace, Where
from harness.remote.faults import CandidateFault, Kind
from harness.suite import candidate as candidate_module
from harness.suite.candidate import ROOM_BYTES
from tests.border.hostile import Judged
from tests.border.peer import candidate_of, written

FRAMES = 1500  # the long form is tests/fuzz_decoder.py
MIB = 1024 * 1024


def test_no_frame_hurts_the_judge() -> None:
    judged = Judged(preload=("torch",))
    tracemalloc.start()
    for seed in range(FRAMES):
        try:
            judged.ask(seed)
        except CandidateFault:
            continue
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    judged.close()
    assert peak < 16 * MIB


def fault_of(answer: Any, **wanted: Any) -> tuple[Kind, str]:
    """What is said of a worker that answers one call with this."""

    def reply(run: Run) -> bytes:
        found = answer(run)
        return found if isinstance(found, bytes) else written(Trace(run.id, [found]))

    candidate = candidate_of(reply, **wanted)
    with pytest.raises(CandidateFault) as error:
        candidate.f([1])
    return error.value.fault.kind, error.value.fault.words


def only(run: Run) -> int:
    return run.steps[0].id


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda run: written(Trace(run.id + 1, [])), "it answered another question"),
        (lambda run: written(Trace(run.id, [])), "it answered other calls than it was asked"),
        (lambda run: Returned(only(run) + 1, 1), "it answered other calls than it was asked"),
        (lambda run: Skipped(only(run)), "a call was skipped that needed no failed one"),
        (lambda run: Returned(only(run), 1, after=1), "arguments came back in another form"),
        (lambda run: Returned(only(run), 1, after=[[], 0, 99]), "outside their bytes"),
        (lambda run: Returned(only(run), 1, after=[nested(900), 0, 0]), "nested without end"),
        (lambda run: Returned(only(run), nested(900)), "nested more than 24 levels deep"),
        (lambda run: Returned(only(run), 1, observed={"a": b"x"}), "observation of kind bytes"),
        (lambda run: Returned(only(run), 1, observed={"a": "x" * 2001}), "observation of kind str"),
        (lambda run: Failed(only(run), where(type="x" * 121)), "not a message of this protocol"),
        (lambda run: Failed(only(run), where(message="x" * 2001)), "not a message"),
        (lambda run: Failed(only(run), where(line=-1)), "not a message of this protocol"),
        (lambda run: Failed(only(run), where(bases=["x"] * 33)), "not a message of this protocol"),
        (lambda run: written(Trace(run.id, [Returned(only(run), 1)]), 1, [bytes(ROOM_BYTES + 1)]),
         "268,435,457 bytes of tensors, room for 268,435,456"),
    ],
)  # fmt: skip
def test_a_lie_is_named(answer: Any, words: str) -> None:
    kind, said = fault_of(answer)
    assert kind is Kind.PROTOCOL
    assert words in said


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def where(**changed: Any) -> Where:
    plain = Where(type="E", bases=["E"], message="", line=1, code="")
    return msgspec.structs.replace(plain, **changed)


@pytest.mark.parametrize(
    "reply",
    [
        lambda run: written(Trace(run.id, [Returned(only(run), 1)]), 1, [bytes(300_000)]),
        lambda run: written(Trace(run.id, [Returned(only(run), "x" * 20_000)])),
        lambda run: written(Trace(run.id, [Returned(only(run), [[]] * 4000)])),
    ],
)
def test_answers_that_are_kept_have_a_limit_together(
    reply: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidate_module, "ROOM_BYTES", MIB)
    candidate = candidate_of(reply)
    candidate.begin_example()
    for _ in range(3):
        candidate.f()
    candidate.begin_example()  # what is forgotten counts no more
    with pytest.raises(CandidateFault) as error:
        for _ in range(5):
            candidate.f()
    assert error.value.fault.kind is Kind.PROTOCOL
