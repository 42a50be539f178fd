"""The stream of an attached container: pieces with headers, cut anywhere."""

from __future__ import annotations

import pytest

from harness.sandbox.demux import HEADER, MAX_NOTE_BYTES, MAX_PIECE_BYTES, Demux, KeeperFault


def piece(stream: int, body: bytes) -> bytes:
    return HEADER.pack(stream, len(body)) + body


def test_output_crosses_and_notes_are_kept_apart() -> None:
    demux = Demux()
    sent = piece(1, b"one") + piece(2, b"a note") + piece(1, b"") + piece(1, b"two")
    assert demux.feed(sent) == b"onetwo"
    assert demux.notes == b"a note"


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 11])
def test_pieces_may_be_cut_anywhere(size: int) -> None:
    demux = Demux()
    sent = piece(1, b"first of them") + piece(2, b"note") + piece(1, b"second")
    got = b"".join(demux.feed(sent[at : at + size]) for at in range(0, len(sent), size))
    assert got == b"first of themsecond"
    assert demux.notes == b"note"


def test_only_the_head_of_the_notes_is_kept() -> None:
    demux = Demux()
    assert demux.feed(piece(2, b"h" + b"x" * MAX_NOTE_BYTES) * 3) == b""
    assert demux.notes == b"h" + b"x" * (MAX_NOTE_BYTES - 1)


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        (HEADER.pack(0, 5), "the engine sent a piece for stream 0, 5 bytes"),
        (HEADER.pack(3, 5), "the engine sent a piece for stream 3, 5 bytes"),
        (HEADER.pack(1, MAX_PIECE_BYTES + 1),
         "the engine sent a piece for stream 1, 1,048,577 bytes"),
    ],
)  # fmt: skip
def test_a_header_that_makes_no_sense_is_the_keepers_fault(header: bytes, fault: str) -> None:
    demux = Demux()
    with pytest.raises(KeeperFault, match=fault):
        demux.feed(header)
    assert demux.fault == fault
