"""The byte stream: frames cross whole however they are cut; nothing is allocated on a lie."""

from __future__ import annotations

import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.border.frames import (
    MAX_BLOB_BYTES,
    MAX_HEADER_BYTES,
    PREFIX,
    BadFrame,
    frame,
    read_prefix,
)
from harness.sandbox.link import Late, Link, Lost, Plain

SOON_S = 0.05


@pytest.fixture
def ends() -> Iterator[tuple[Link, socket.socket]]:
    """The judge's end and the peer's."""
    ours, theirs = socket.socketpair()
    yield Link(ours, Plain()), theirs
    ours.close()
    theirs.close()


@given(st.binary(min_size=PREFIX.size, max_size=PREFIX.size))
def test_any_prefix_is_one_of_ours_or_refused(raw: bytes) -> None:
    try:
        prefix = read_prefix(raw)
    except BadFrame:
        return
    assert prefix.channel in (0, 1)
    assert 0 < prefix.header_bytes <= MAX_HEADER_BYTES
    assert prefix.blob_bytes <= MAX_BLOB_BYTES


@given(
    header=st.binary(min_size=1, max_size=300),
    blobs=st.lists(st.binary(max_size=300), max_size=3),
    cuts=st.lists(st.integers(1, 40), min_size=1, max_size=20),
)
def test_a_frame_arrives_whole_however_it_is_cut(
    header: bytes, blobs: list[bytes], cuts: list[int]
) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        link = Link(ours, Plain())
        raw = b"".join([*frame(1, header, blobs), *frame(0, b"x", [])])
        while raw:
            cut = cuts.pop(0) if cuts else len(raw)
            theirs.sendall(raw[:cut])
            raw = raw[cut:]
        prefix, got_header, got_blobs = link.receive(time.monotonic() + 5)
        assert (prefix.channel, got_header, got_blobs) == (1, header, b"".join(blobs))
        prefix, got_header, got_blobs = link.receive(time.monotonic() + 5)
        assert (prefix.channel, got_header, got_blobs) == (0, b"x", b"")


@given(kept=st.integers(0, 63))
def test_a_stream_that_ends_early_is_lost_not_read(kept: int) -> None:
    ours, theirs = socket.socketpair()
    with ours:
        link = Link(ours, Plain())
        with theirs:
            theirs.sendall(b"".join(frame(1, b"h" * 20, [b"b" * 31]))[:kept])
        with pytest.raises(Lost):
            link.receive(time.monotonic() + 5)


@pytest.mark.parametrize(
    ("prefix", "words"),
    [
        ((2, 1, 0), "channel 2 does not exist"),
        ((1, 0, 0), "a header of 0 bytes; at most 2,097,152"),
        ((1, 0xFFFFFFFF, 0), "a header of 4,294,967,295 bytes; at most 2,097,152"),
        ((1, 1, MAX_BLOB_BYTES + 1), "536,870,913 bytes of tensors; at most 536,870,912"),
        ((1, 1, 2**64 - 1), "18,446,744,073,709,551,615 bytes of tensors; at most 536,870,912"),
        ((1, 1, 1000), "1,000 bytes of tensors, room for 999"),
    ],
)
def test_a_length_that_lies_is_refused_before_anything_is_allocated(
    ends: tuple[Link, socket.socket], prefix: tuple[int, int, int], words: str
) -> None:
    link, theirs = ends
    theirs.sendall(PREFIX.pack(*prefix))
    tracemalloc.start()
    with pytest.raises(BadFrame) as refusal:
        link.receive(time.monotonic() + 5, room=999 if prefix[2] == 1000 else MAX_BLOB_BYTES)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert str(refusal.value) == words
    assert peak < 2 * 1024 * 1024  # what one read may take


def test_a_promise_that_is_not_kept_costs_only_what_was_sent(
    ends: tuple[Link, socket.socket],
) -> None:
    link, theirs = ends
    theirs.sendall(PREFIX.pack(1, MAX_HEADER_BYTES, MAX_BLOB_BYTES) + b"x" * 1000)
    tracemalloc.start()
    with pytest.raises(Late):
        link.receive(time.monotonic() + SOON_S)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * 1024 * 1024


def test_a_byte_now_and_then_does_not_move_the_deadline(ends: tuple[Link, socket.socket]) -> None:
    link, theirs = ends
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(SOON_S / 10):
            theirs.send(b"\1")

    dripping = threading.Thread(target=drip)
    dripping.start()
    with pytest.raises((Late, BadFrame)):
        link.receive(time.monotonic() + SOON_S)
    stop.set()
    dripping.join()


def test_a_peer_that_never_reads_does_not_hold_the_judge(ends: tuple[Link, socket.socket]) -> None:
    link, _ = ends
    with pytest.raises(Late):
        link.send([bytes(64 << 20)], time.monotonic() + SOON_S)


def test_a_frame_of_ours_above_the_cap_is_never_sent() -> None:
    with pytest.raises(BadFrame):
        frame(1, b"x" * (MAX_HEADER_BYTES + 1), [])
