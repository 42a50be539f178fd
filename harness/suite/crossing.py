"""What came back over the border, checked and put into the record of calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.border.frames import BadFrame
from harness.border.messages import Failed, Skipped
from harness.border.tensors import Blobs
from harness.border.values import MAX_READ_DEPTH, pack, unpack
from harness.remote.faults import Fault, Kind
from harness.remote.session import Reply as WireReply
from harness.suite.calls import PENDING, Call

MAX_FACTS_DEPTH = 8
MAX_FACTS_CHARS = 2000


def fill(call: Call, reply: WireReply, incoming: Blobs) -> None:
    """Put what came back into the call it answers; raise `BadFrame` for what cannot be read."""
    if isinstance(reply, Skipped):
        if not any(needed.value is PENDING for needed in _needed(call)):
            raise BadFrame("a call was skipped that needed no failed one")
        call.skipped = True
        return
    if isinstance(reply, Failed):
        call.error = reply.error
        if reply.error.type == "MemoryError" or "can't allocate memory" in reply.error.message:
            call.fault = Fault(Kind.OUT_OF_MEMORY, "it used more than its memory limit")
    else:
        call.value = unpack(reply.value, incoming)
    call.observed = _facts(reply.observed) if type(reply.observed) is dict else {}
    if reply.after is not None:
        call.changed_arguments = _changed(call, reply.after, incoming.received)


def _needed(call: Call) -> Iterator[Call]:
    """The calls whose results this one was given."""
    if call.target is not None:
        yield call.target
    given: list[Any] = [*call.args, *call.kwargs.values()]
    while given:
        value = given.pop()
        if isinstance(getattr(value, "asked", None), Call):
            yield value.asked
        elif isinstance(value, (list, tuple)):
            given += value
        elif isinstance(value, dict):
            given += [*value.keys(), *value.values()]


def _facts(value: Any, depth: int = 0) -> Any:
    """What was observed, in plain values that a finding can hold; raise `BadFrame` for others."""
    if value is None or type(value) in (bool, int, float):
        return value
    if type(value) is str and len(value) <= MAX_FACTS_CHARS:
        return value
    if depth < MAX_FACTS_DEPTH and type(value) is list:
        return [_facts(item, depth + 1) for item in value]
    if depth < MAX_FACTS_DEPTH and type(value) is dict and all(type(key) is str for key in value):
        return {key: _facts(item, depth + 1) for key, item in value.items()}
    raise BadFrame(f"an observation of kind {type(value).__name__}")


def _changed(call: Call, after: Any, received: bytearray) -> bool:
    """Whether the arguments that came back differ, bit for bit, from those that were sent."""
    if type(after) is not list or len(after) != 3:
        raise BadFrame("arguments came back in another form")
    packed, start, size = after
    numbers = type(start) is int and type(size) is int
    if not numbers or not 0 <= start <= start + size <= len(received):
        raise BadFrame("arguments came back outside their bytes")
    before = Blobs(whole=True)
    sent = pack([list(call.args), call.kwargs], before, lambda _: 0)
    if _without_objects(packed) != _without_objects(sent):
        return True
    return bytes(received[start : start + size]) != b"".join(before.parts)


def _without_objects(packed: Any, depth: int = 0) -> Any:
    """Objects and devices are other names on the other side; everything else must be equal."""
    if depth > 3 * MAX_READ_DEPTH:
        raise BadFrame("arguments came back nested without end")
    if isinstance(packed, list):
        return [_without_objects(item, depth + 1) for item in packed]
    if not isinstance(packed, dict):
        return repr(packed)  # NaN equals itself here, and True is not 1
    if "object" in packed:
        return "object"
    if "tensor" in packed and isinstance(packed["tensor"], list):
        return packed["tensor"][:-1]
    return {key: _without_objects(value, depth + 1) for key, value in packed.items()}
