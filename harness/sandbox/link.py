"""The judge's end of a worker's byte stream, with a deadline on every byte."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable
from typing import Protocol

from harness.border.frames import MAX_BLOB_BYTES, PREFIX, BadFrame, Prefix, read_prefix

CHUNK = 1 << 20


class Lost(Exception):
    """The stream ended: the worker, its parent or the engine is gone."""


class Late(Exception):
    """The deadline passed before the bytes had crossed."""


class Incoming(Protocol):
    """Takes a received chunk apart; a plain socket has nothing to take apart."""

    def feed(self, chunk: bytes) -> bytes:
        """The payload bytes inside `chunk`."""


class Plain:
    """Bytes as they are."""

    def feed(self, chunk: bytes) -> bytes:
        return chunk


class Link:
    """Whole frames over one socket. Deadlines are readings of `time.monotonic`."""

    def __init__(self, sock: socket.socket, incoming: Incoming) -> None:
        self._sock = sock
        self._sock.setblocking(False)
        self._incoming = incoming
        self._buffer = bytearray()
        self._polls = {event: select.poll() for event in (select.POLLIN, select.POLLOUT)}
        for event, poll in self._polls.items():
            poll.register(sock, event)

    def send(self, pieces: Iterable[bytes], deadline: float) -> None:
        """Write every piece; raise `Lost` or `Late`."""
        for piece in pieces:
            view = memoryview(piece)
            while view:
                try:
                    view = view[self._sock.send(view[:CHUNK]) :]
                except BlockingIOError:
                    self._wait(select.POLLOUT, deadline)
                except OSError as error:
                    raise Lost(str(error)) from None

    def receive(
        self, deadline: float, room: int = MAX_BLOB_BYTES
    ) -> tuple[Prefix, bytearray, bytearray]:
        """The next frame: its prefix, header and blobs; raise `Lost`, `Late` or `BadFrame`.

        `room` is how many bytes of tensors there is memory for.
        """
        prefix = read_prefix(self._take(PREFIX.size, deadline))
        if prefix.blob_bytes > room:
            raise BadFrame(f"{prefix.blob_bytes:,} bytes of tensors, room for {max(room, 0):,}")
        header = self._take(prefix.header_bytes, deadline)
        return prefix, header, self._take(prefix.blob_bytes, deadline)

    def close(self) -> None:
        """Shut the stream down: an engine serves nothing else while an attached one is open."""
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # already gone
        finally:
            self._sock.close()

    def _take(self, size: int, deadline: float) -> bytearray:
        while len(self._buffer) < size:
            self._fill(deadline)
        if len(self._buffer) == size:
            taken, self._buffer = self._buffer, bytearray()
            return taken
        taken = self._buffer[:size]
        del self._buffer[:size]
        return taken

    def _fill(self, deadline: float) -> None:
        try:
            chunk = self._sock.recv(CHUNK)
        except BlockingIOError:
            self._wait(select.POLLIN, deadline)
            return
        except OSError as error:
            raise Lost(str(error)) from None
        if not chunk:
            raise Lost("the stream ended")
        self._buffer += self._incoming.feed(chunk)

    def _wait(self, event: int, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0 or not self._polls[event].poll(left * 1000):
            raise Late
