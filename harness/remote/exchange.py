"""Messages to a worker's two processes and back: framed and decoded, each with a deadline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from harness.border.frames import MAX_BLOB_BYTES, TO_CHILD, TO_PARENT, BadFrame, frame
from harness.border.messages import FromChild, FromParent, Message, encode
from harness.sandbox.link import Link


@dataclass(frozen=True, slots=True)
class Heard:
    """One message as it came: who sent it, the bytes of its tensors, the length of the rest."""

    message: Any
    from_child: bool
    blobs: bytearray
    header_bytes: int


class Exchange:
    """Speaks over one link; raises `Lost`, `Late` or `BadFrame`."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._from_parent = msgspec.msgpack.Decoder(FromParent).decode
        self._from_child = msgspec.msgpack.Decoder(FromChild).decode

    def tell_parent(self, message: Message, deadline: float) -> None:
        """Say something to the warm parent."""
        self._link.send(frame(TO_PARENT, encode(message), []), deadline)

    def tell_child(self, message: Message, deadline: float, blobs: list[bytes]) -> None:
        """Say something to the candidate's process."""
        self._link.send(frame(TO_CHILD, encode(message), blobs), deadline)

    def hear(self, deadline: float, room: int = MAX_BLOB_BYTES) -> Heard:
        """The next message of either; `room` is how many bytes of tensors may come with it."""
        prefix, header, blobs = self._link.receive(deadline, room)
        from_child = prefix.channel == TO_CHILD
        message = _decoded(self._from_child if from_child else self._from_parent, header)
        return Heard(message, from_child, blobs, len(header))

    def parent_says(self, deadline: float) -> Any:
        """The parent's next message; what a dying process still sent is passed over unread."""
        while True:
            prefix, header, _ = self._link.receive(deadline)
            if prefix.channel == TO_PARENT:
                return _decoded(self._from_parent, header)


def _decoded(decode: Any, header: bytearray) -> Any:
    try:
        return decode(header)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise BadFrame(f"not a message of this protocol: {error!s:.120}") from None
