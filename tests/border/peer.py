"""A worker that is this test: it shakes hands as it should, then answers a run with any bytes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable

import msgspec

from harness.border.frames import PREFIX, TO_CHILD, TO_PARENT, frame, read_prefix
from harness.border.messages import (
    PROTOCOL,
    Ended,
    Fork,
    Forked,
    FromJudgeToChild,
    FromJudgeToParent,
    Hello,
    Kill,
    Limits,
    Load,
    Loaded,
    Message,
    Ready,
    Run,
    Usage,
    Used,
    encode,
)
from harness.remote.session import Session, Submission
from harness.sandbox.base import Ending, Spec, process_limits
from harness.sandbox.link import Link, Plain
from harness.suite.candidate import Candidate

SMALL_BYTES = 64 * 1024  # fits a socket's buffer, so that no second thread is needed

Answer = Callable[[Run], bytes]

_from_judge = msgspec.msgpack.Decoder(FromJudgeToParent | FromJudgeToChild).decode


def written(message: Message, channel: int = TO_CHILD, blobs: Iterable[bytes] = ()) -> bytes:
    """One message as the bytes of its frame."""
    return b"".join(frame(channel, encode(message), list(blobs)))


class Peer:
    """A sandbox that starts no process. `answer` gives the bytes that a run is answered with."""

    name = "peer"

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def start(self, spec: Spec) -> PeerRunning:
        return PeerRunning(spec, self._answer)

    def describe(self) -> str:
        return "a test"


class PeerRunning:
    """A started peer: the two ends of a stream."""

    def __init__(self, spec: Spec, answer: Answer) -> None:
        ours, self._theirs = socket.socketpair()
        self.limits: Limits = process_limits(spec, count_processes=False)
        self.expected_facts: dict[str, str] = {}
        self.link: Link = PeerLink(ours, self._theirs, answer)

    def end(self) -> Ending:
        self.link.close()
        self._theirs.close()
        return Ending(exit_code=0)


class PeerLink(Link):
    """The judge's end; what the judge sends is answered before it looks for the answer."""

    def __init__(self, ours: socket.socket, theirs: socket.socket, answer: Answer) -> None:
        super().__init__(ours, Plain())
        self._theirs = theirs
        self._answer = answer

    def send(self, pieces: Iterable[bytes], deadline: float) -> None:
        raw = b"".join(pieces)
        prefix = read_prefix(raw[: PREFIX.size])
        message = _from_judge(raw[PREFIX.size : PREFIX.size + prefix.header_bytes])
        if isinstance(message, Run):
            self._reply(self._answer(message))
            return
        self._theirs.sendall(_handshake(message))

    def _reply(self, raw: bytes) -> None:
        if len(raw) > SMALL_BYTES:
            threading.Thread(target=self._write, args=(raw,), daemon=True).start()
        else:
            self._write(raw)

    def _write(self, raw: bytes) -> None:
        try:
            self._theirs.sendall(raw)
            if not raw or not _ends_with_a_frame(raw):
                self._theirs.shutdown(socket.SHUT_WR)  # nobody waits for the rest
        except OSError:
            return  # the judge has seen enough


def _ends_with_a_frame(raw: bytes) -> bool:
    while len(raw) >= PREFIX.size:
        _, header_bytes, blob_bytes = PREFIX.unpack(raw[: PREFIX.size])
        if PREFIX.size + header_bytes + blob_bytes > len(raw):
            return False
        raw = raw[PREFIX.size + header_bytes + blob_bytes :]
    return not raw


def _handshake(message: Message) -> bytes:
    if isinstance(message, Hello):
        return written(Ready(PROTOCOL, "3", 1, {}), TO_PARENT)
    if isinstance(message, Fork):
        return written(Forked(), TO_PARENT)
    if isinstance(message, Load):
        return written(Loaded(["f"]))
    if isinstance(message, Usage):
        return written(Used(0, 0), TO_PARENT)
    assert isinstance(message, Kill)
    return written(Ended(0, 9, -1, False, False, "", b""), TO_PARENT)


def candidate_of(answer: Answer, *, preload: tuple[str, ...] = ()) -> Candidate:
    """The candidate as a suite gets it, with this peer as its worker."""
    session = Session(Peer(answer), Spec(preload=preload), Submission("answer", b"", "answer.py"))
    return Candidate(session, call_limit_s=5.0)
