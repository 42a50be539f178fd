"""Reading and writing whole frames on the worker's side, with blocking file descriptors."""

from __future__ import annotations

import os

from harness.border.frames import PREFIX, Prefix, frame, read_prefix
from harness.border.messages import Message, encode


class Closed(Exception):
    """The other end is gone."""


def read_exactly(fd: int, size: int) -> bytearray:
    """Read `size` bytes; raise `Closed` when the stream ends first."""
    buffer = bytearray(size)
    view = memoryview(buffer)
    done = 0
    while done < size:
        got = os.readv(fd, [view[done:]])
        if not got:
            raise Closed
        done += got
    return buffer


def write_all(fd: int, piece: bytes | bytearray) -> None:
    """Write every byte, however many writes it takes."""
    view = memoryview(piece)
    while view:
        view = view[os.write(fd, view) :]


def read_frame(fd: int) -> tuple[Prefix, bytearray, bytearray]:
    """The next frame's prefix, header and blobs."""
    prefix = read_prefix(read_exactly(fd, PREFIX.size))
    header = read_exactly(fd, prefix.header_bytes)
    return prefix, header, read_exactly(fd, prefix.blob_bytes)


def write_message(fd: int, channel: int, message: Message, blobs: list[bytes]) -> None:
    """Write one message as a frame."""
    for piece in frame(channel, encode(message), blobs):
        write_all(fd, piece)
