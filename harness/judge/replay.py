"""Running the calls of a finding again in a fresh process, one at a time, before it is shown."""

from __future__ import annotations

import dataclasses
from typing import Any

from harness.border.values import Object
from harness.remote.faults import CandidateFault, Kind, TimeSpent
from harness.suite.calls import PENDING, Call
from harness.suite.candidate import Candidate, Reply


def replay(candidate: Candidate, calls: list[Call]) -> list[Call]:
    """The same calls in a fresh process, with the outcomes they have there.

    Empty when the fresh process does not get through them.
    """
    try:
        candidate.restart()
    except CandidateFault:
        return []
    candidate.begin_example()
    again: dict[int, Call] = {}
    for call in calls:
        copy = _planned(call, again, candidate)
        again[id(call)] = copy
        try:
            candidate.execute([copy], echo=True)
        except CandidateFault as error:
            copy.fault = error.fault
            break
        except TimeSpent:
            return []  # answers that take longer one at a time than in one trip
        except AssertionError:
            continue  # a changed argument, where the check is about just that
    return list(again.values())


def _planned(call: Call, again: dict[int, Call], candidate: Candidate) -> Call:
    def moved(value: Any) -> Any:
        asked = getattr(value, "asked", None)
        if asked is None:
            return value
        return Reply(candidate, again.get(id(asked), asked), candidate.program())

    return dataclasses.replace(
        call,
        target=None if call.target is None else again.get(id(call.target), call.target),
        args=tuple(moved(arg) for arg in call.args),
        kwargs={key: moved(arg) for key, arg in call.kwargs.items()},
        value=PENDING,
        error=None,
        fault=None,
        skipped=False,
        observed={},
        changed_arguments=False,
    )


def repeats(shown: list[Call], before: list[Call], after: list[Call]) -> bool:
    """Whether the shown calls have the outcomes they had when the check broke."""
    if len(after) < len(before) and not (after and after[-1].fault):
        return False
    pairs = [(b, a) for b, a in zip(before, after, strict=False) if b in shown]
    return bool(pairs) and all(_same_outcome(b, a) for b, a in pairs)


def _same_outcome(before: Call, after: Call) -> bool:
    if before.fault is not None or after.fault is not None:
        return _fault(before) is _fault(after)
    if before.error is not None or after.error is not None:
        return _type(before) == _type(after)
    if before.changed_arguments != after.changed_arguments:
        return False
    return same(before.value, after.value)


def _fault(call: Call) -> Kind | None:
    return call.fault.kind if call.fault is not None else None


def _type(call: Call) -> str:
    return call.error.type if call.error is not None else ""


def same(one: Any, other: Any) -> bool:
    """Equal in type and value; tensors bit for bit, NaN equal to itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Object):
        return bool(one.type == other.type)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    if hasattr(one, "untyped_storage"):
        return _same_tensor(one, other)
    return bool(one == other or (one != one and other != other))


def _same_tensor(one: Any, other: Any) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    import torch  # there already, or there would be no tensors

    raw = [tensor.contiguous().reshape(-1).view(torch.uint8) for tensor in (one, other)]
    return torch.equal(*raw)
