"""Reading and writing whole frames on the worker's side, and when to give that up."""

from __future__ import annotations

import os
import select
import socket

from harness.border.frames import PREFIX, Prefix, frame, read_prefix
from harness.border.messages import Message, encode

MAX_PIECES = 512  # a kernel takes 1024 in one write


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


def write_all(fd: int, *pieces: bytes | bytearray) -> None:
    """Write every byte, in as few writes as it takes: each one wakes the reader."""
    left = [memoryview(piece) for piece in pieces]
    while left:
        written = os.writev(fd, left[:MAX_PIECES])
        while left and written >= len(left[0]):
            written -= len(left.pop(0))
        if left:
            left[0] = left[0][written:]


class Interrupted(Exception):
    """The judge has something to say, or is gone; what was being read is not worth finishing."""


def receive_exactly(sock: socket.socket, size: int, judge: int) -> bytearray:
    """Read `size` bytes from a candidate's process, but give up as soon as the judge is heard."""
    buffer = bytearray(size)
    view = memoryview(buffer)
    while view:
        try:
            got = sock.recv_into(view, 0, socket.MSG_DONTWAIT)
        except BlockingIOError:
            if judge in select.select([sock.fileno(), judge], [], [])[0]:
                raise Interrupted from None
            continue
        if not got:
            raise Closed
        view = view[got:]
    return buffer


def send_all(sock: socket.socket, piece: bytes | bytearray, judge: int) -> None:
    """Write to a process that may never read; raise `Closed` when the judge is gone."""
    view = memoryview(piece)
    while view:
        try:
            view = view[sock.send(view, socket.MSG_DONTWAIT) :]
        except BlockingIOError:
            waiting = select.poll()
            waiting.register(sock, select.POLLOUT)
            waiting.register(judge, 0)  # its end alone: more of the frame is always there to read
            if any(fd == judge for fd, _ in waiting.poll()):
                raise Closed from None


def read_frame(fd: int) -> tuple[Prefix, bytearray, bytearray]:
    """The next frame's prefix, header and blobs."""
    prefix = read_prefix(read_exactly(fd, PREFIX.size))
    header = read_exactly(fd, prefix.header_bytes)
    return prefix, header, read_exactly(fd, prefix.blob_bytes)


def write_message(fd: int, channel: int, message: Message, blobs: list[bytes]) -> None:
    """Write one message as a frame."""
    write_all(fd, *frame(channel, encode(message), blobs))
