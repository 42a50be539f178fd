"""How a message is laid out on a byte stream, and which layouts are refused.

A frame is a fixed prefix, a header in msgpack and raw blobs (tensor bytes). Lengths are checked
against caps before anything is allocated. A frame that breaks a rule raises `BadFrame`, and the
stream it came from is not used again.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

PREFIX = struct.Struct("<BIQ")  # channel, header bytes, blob bytes
TO_PARENT = 0  # between the judge and the warm parent
TO_CHILD = 1  # between the judge and the candidate's process, relayed by the parent

MAX_HEADER_BYTES = 2 * 1024 * 1024  # msgpack grows up to 70 times in memory: at most 140 MiB
MAX_BLOB_BYTES = 512 * 1024 * 1024
SMALL_BYTES = 64 * 1024


class BadFrame(Exception):
    """The peer sent bytes that are not a frame of this protocol."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """The checked lengths of the frame that follows."""

    channel: int
    header_bytes: int
    blob_bytes: int

    @property
    def body_bytes(self) -> int:
        return self.header_bytes + self.blob_bytes


def read_prefix(raw: bytes | bytearray) -> Prefix:
    """Check the first bytes of a frame; raise `BadFrame` before anything is allocated."""
    channel, header_bytes, blob_bytes = PREFIX.unpack(raw)
    if channel not in (TO_PARENT, TO_CHILD):
        raise BadFrame(f"channel {channel} does not exist")
    if not 0 < header_bytes <= MAX_HEADER_BYTES:
        raise BadFrame(f"a header of {header_bytes:,} bytes; at most {MAX_HEADER_BYTES:,}")
    if blob_bytes > MAX_BLOB_BYTES:
        raise BadFrame(f"{blob_bytes:,} bytes of tensors; at most {MAX_BLOB_BYTES:,}")
    return Prefix(channel, header_bytes, blob_bytes)


def frame(channel: int, header: bytes, blobs: list[bytes]) -> list[bytes]:
    """The pieces of one frame, ready to be written in order."""
    blob_bytes = sum(map(len, blobs))
    if len(header) > MAX_HEADER_BYTES or blob_bytes > MAX_BLOB_BYTES:
        raise BadFrame(f"a frame of {len(header):,} + {blob_bytes:,} bytes is above the cap")
    prefix = PREFIX.pack(channel, len(header), blob_bytes)
    if blob_bytes <= SMALL_BYTES:  # every write wakes the reader, and costs more than a copy
        return [b"".join([prefix, header, *blobs])]
    return [prefix + header, *blobs]
