"""Taking apart the stream of an attached container: output and notes, each piece with a header."""

from __future__ import annotations

import struct

from harness.sandbox.link import Lost

HEADER = struct.Struct(">BxxxI")  # stream, bytes that follow
STDOUT, STDERR = 1, 2
MAX_PIECE_BYTES = 1024 * 1024  # an engine copies 32 KiB at a time
MAX_NOTE_BYTES = 16 * 1024


class KeeperFault(Lost):
    """The engine sent what no engine sends."""


class Demux:
    """Gives the bytes of standard output on; keeps the head of standard error as `notes`."""

    def __init__(self) -> None:
        self.fault = ""
        self.notes = bytearray()
        self._header = bytearray()
        self._stream = STDOUT
        self._left = 0

    def feed(self, chunk: bytes) -> bytes:
        """The output bytes in `chunk`; raises `KeeperFault` when its headers make no sense."""
        output = bytearray()
        position = 0
        while position < len(chunk):
            if not self._left:
                wanted = HEADER.size - len(self._header)
                self._header += chunk[position : position + wanted]
                position += wanted
                self._open_piece()
                continue
            piece = chunk[position : position + self._left]
            position += len(piece)
            self._left -= len(piece)
            if self._stream == STDOUT:
                output += piece
            else:
                self.notes += piece[: MAX_NOTE_BYTES - len(self.notes)]
        return bytes(output)

    def _open_piece(self) -> None:
        if len(self._header) < HEADER.size:
            return
        self._stream, self._left = HEADER.unpack(self._header)
        if self._stream not in (STDOUT, STDERR) or self._left > MAX_PIECE_BYTES:
            self.fault = f"the engine sent a piece for stream {self._stream}, {self._left:,} bytes"
            raise KeeperFault(self.fault)
        self._header.clear()
