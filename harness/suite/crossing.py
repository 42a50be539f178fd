"""What came back over the border, checked and put into the record of calls."""

from __future__ import annotations

from typing import Any

from harness.border.frames import BadFrame
from harness.border.messages import Failed, Skipped
from harness.border.tensors import Blobs
from harness.border.values import pack, unpack
from harness.remote.faults import Fault, Kind
from harness.remote.session import Reply as WireReply
from harness.suite.calls import Call


def fill(call: Call, reply: WireReply, incoming: Blobs) -> None:
    """Put what came back into the call it answers; raise `BadFrame` for what cannot be read."""
    if isinstance(reply, Skipped):
        call.skipped = True
        return
    if isinstance(reply, Failed):
        call.error = reply.error
        if reply.error.type == "MemoryError" or "can't allocate memory" in reply.error.message:
            call.fault = Fault(Kind.OUT_OF_MEMORY, "it used more than its memory limit")
    else:
        call.value = unpack(reply.value, incoming)
    call.observed = reply.observed if isinstance(reply.observed, dict) else {}
    if reply.after is not None:
        call.changed_arguments = _changed(call, reply.after, incoming.received)


def _changed(call: Call, after: Any, received: bytearray) -> bool:
    """Whether the arguments that came back differ, bit for bit, from those that were sent."""
    if type(after) is not list or len(after) != 3:
        raise BadFrame("arguments came back in another form")
    packed, start, size = after
    if type(start) is not int or type(size) is not int or not 0 <= start <= len(received):
        raise BadFrame("arguments came back outside their bytes")
    before = Blobs(whole=True)
    sent = pack([list(call.args), call.kwargs], before, lambda _: 0)
    if _without_objects(packed) != _without_objects(sent):
        return True
    return bytes(received[start : start + size]) != b"".join(before.parts)


def _without_objects(packed: Any) -> Any:
    """Objects and devices are other names on the other side; everything else must be equal."""
    if isinstance(packed, list):
        return [_without_objects(item) for item in packed]
    if not isinstance(packed, dict):
        return repr(packed)  # NaN equals itself here, and True is not 1
    if "object" in packed:
        return "object"
    if "tensor" in packed and isinstance(packed["tensor"], list):
        return packed["tensor"][:-1]
    return {key: _without_objects(value) for key, value in packed.items()}
