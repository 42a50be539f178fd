"""The warm parent: imports what the problem needs, forks the candidate's processes, relays frames.

It never runs the candidate's code and never computes with torch (a fork after a threaded torch
operation hangs). It holds nothing secret: only the frames that pass through.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import platform
import select
import signal
import sys
import threading
from pathlib import Path

import msgspec

from harness.border.frames import PREFIX, TO_CHILD, TO_PARENT, BadFrame, read_prefix
from harness.border.messages import (
    PROTOCOL,
    Ended,
    Fork,
    Forked,
    FromJudgeToParent,
    Hello,
    Kill,
    Limits,
    Message,
    NotReady,
    Ready,
    Usage,
    Used,
)
from harness.worker import folders, processes, stream, usage
from harness.worker.process import Process

CHUNK = 1 << 20
CLOSING_S = 0.2
KEPT = (".triton",)  # compiled kernels, by content


def main() -> None:
    """Serve one judge on standard input and output until it goes away."""
    requests, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    with contextlib.suppress(stream.Closed, BrokenPipeError, ConnectionResetError):
        Parent(requests, answers).serve()


class Parent:
    """The relay between the judge's stream and one candidate's process at a time."""

    def __init__(self, requests: int, answers: int) -> None:
        self._requests = requests
        self._answers = answers
        self._child: Process | None = None
        self._limits: Limits | None = None
        self._decode = msgspec.msgpack.Decoder(FromJudgeToParent).decode
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake)

    def serve(self) -> None:
        """Handle whatever is ready, until the judge's end closes."""
        processes.adopt_orphans()
        try:
            while True:
                self._turn()
        finally:
            if self._child is not None:
                self._child.end()

    def _turn(self) -> None:
        child = self._child
        watched = [self._requests, self._woken]
        if child is not None:
            watched += [child.stream.fileno(), *([child.output] if child.printing else [])]
        ready, _, _ = select.select(watched, [], [])
        if self._woken in ready:
            os.read(self._woken, 4096)
        if child is not None and child.output in ready:
            child.drain()
        if self._requests in ready:
            self._request()  # first: a child may answer without end, and has to be ended then
        elif child is not None and child.stream.fileno() in ready:
            self._relay_answer(child)
        elif child is not None and (child.flooded or child.is_gone()):
            self._finish(child)

    def _request(self) -> None:
        raw = stream.read_exactly(self._requests, PREFIX.size)
        prefix = read_prefix(raw)
        if prefix.channel == TO_PARENT:
            body = stream.read_exactly(self._requests, prefix.body_bytes)
            self._control(self._decode(body[: prefix.header_bytes]))
            return
        self._pass_on(raw, prefix.body_bytes)

    def _pass_on(self, raw: bytearray, left: int) -> None:
        """Hand a frame to the child; one that no longer reads it is not waited for by the judge."""
        target = self._child.stream if self._child is not None else None
        piece = raw  # with what follows it: every write wakes the reader
        while True:
            more = stream.read_exactly(self._requests, min(left, CHUNK))
            left -= len(more)
            piece += more
            try:
                if target is not None:
                    stream.send_all(target, piece, self._requests)
            except OSError:
                target = None  # the child is gone: swallow the rest, its end is reported next
            if not left:
                return
            piece = bytearray()

    def _control(self, message: Message) -> None:
        if isinstance(message, Hello):
            self._tell(self._prepare(message))
        elif isinstance(message, Fork):
            assert self._limits is not None
            if self._child is not None:
                self._end(self._child)
            own = [self._requests, self._answers, self._woken, self._wake]
            self._child = Process.start(self._limits, own)
            self._tell(Forked())
        elif isinstance(message, Kill) and self._child is not None:
            self._finish(self._child)
        elif isinstance(message, Usage) and self._child is not None:
            assert self._limits is not None
            pid, alone = self._child.pid, self._limits.alone
            self._tell(Used(usage.cpu_ns(pid, alone=alone), usage.peak_bytes(pid)))

    def _prepare(self, hello: Hello) -> Ready | NotReady:
        if hello.protocol != PROTOCOL:
            return NotReady(f"the worker speaks protocol {PROTOCOL}, not {hello.protocol}")
        for name in hello.preload:
            try:
                importlib.import_module(name)
            except ImportError as error:
                return NotReady(f"the worker has no module {name}: {error}")
        if "triton" in hello.preload:
            importlib.import_module("harness.worker.triton_watch")
        self._limits = hello.limits
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(hello.limits.threads)
        gc.collect()
        gc.freeze()
        facts = {"machine": platform.machine(), "uid": str(os.getuid()), **_security_facts()}
        return Ready(PROTOCOL, platform.python_version(), threading.active_count(), facts)

    def _relay_answer(self, child: Process) -> None:
        try:
            raw = stream.receive_exactly(child.stream, PREFIX.size, self._requests)
            prefix = read_prefix(raw)
            if prefix.channel != TO_CHILD:
                raise BadFrame("a frame for another reader")
            body = stream.receive_exactly(child.stream, prefix.body_bytes, self._requests)
        except stream.Interrupted:
            return  # to end it, as a rule: part of a frame, and the time for it is over
        except (stream.Closed, OSError):
            self._finish(child, "" if child.ends_within(CLOSING_S) else "it closed its stream")
        except BadFrame as error:
            self._finish(child, bad_frame=str(error))
        else:
            stream.write_all(self._answers, raw, body)

    def _finish(self, child: Process, bad_frame: str = "") -> None:
        self._child = None
        self._tell(self._end(child, bad_frame))

    def _end(self, child: Process, bad_frame: str = "") -> Ended:
        """End a process and what it left in its folders, so that the next one finds them new."""
        ended = child.end(bad_frame)
        own = [os.environ.get("TMPDIR", "")]
        if self._limits is not None and self._limits.alone:
            own += ["/tmp", "/dev/shm"]
        for folder in filter(None, own):
            folders.empty(Path(folder), keep=KEPT)
        return ended

    def _tell(self, message: Message) -> None:
        stream.write_message(self._answers, TO_PARENT, message, [])


def _security_facts() -> dict[str, str]:
    """What the kernel says of this process, for the judge to compare with what it asked for."""
    facts = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in ("CapEff", "NoNewPrivs", "Seccomp"):
                facts[name] = value.strip()
        facts["interfaces"] = ",".join(sorted(os.listdir("/sys/class/net")))
    return facts
