"""The warm parent: imports what the problem needs, forks the candidate's processes, relays frames.

It never runs the candidate's code and never computes with torch (a fork after a threaded torch
operation hangs). It holds nothing secret: only the frames that pass through.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import mmap
import os
import platform
import resource
import select
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
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
from harness.worker import processes, stream
from harness.worker.child import STEP, Child

CHUNK = 1 << 20
OUTPUT_HEAD_BYTES = 16 * 1024
CLOSING_S = 0.2
SETUP_FAILED = 70  # the exit status of a child that could not be set up or lost its stream


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
        self._child: _Process | None = None
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
            watched += [child.stream, child.output] if child.printing else [child.stream]
        ready, _, _ = select.select(watched, [], [])
        if self._woken in ready:
            os.read(self._woken, 4096)
        if child is not None and child.output in ready:
            child.drain()
        if child is not None and child.stream in ready:
            self._relay_answer(child)
        elif child is not None and (child.flooded or child.is_gone()):
            self._finish(child)
        elif self._requests in ready:
            self._request()

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
        target = self._child.stream if self._child is not None else -1
        pieces = [raw]
        while True:
            for piece in pieces:
                try:
                    if target >= 0:
                        stream.write_all(target, piece)
                except OSError:
                    target = -1  # the child is gone: swallow the rest, its end is reported next
            if not left:
                return
            pieces = [stream.read_exactly(self._requests, min(left, CHUNK))]
            left -= len(pieces[0])

    def _control(self, message: Message) -> None:
        if isinstance(message, Hello):
            self._tell(self._prepare(message))
        elif isinstance(message, Fork):
            assert self._limits is not None
            if self._child is not None:
                self._child.end()
            own = [self._requests, self._answers, self._woken, self._wake]
            self._child = _Process.start(self._limits, own)
            self._tell(Forked())
        elif isinstance(message, Kill) and self._child is not None:
            self._finish(self._child)
        elif isinstance(message, Usage) and self._child is not None:
            pid = self._child.pid
            self._tell(Used(processes.cpu_ns(pid), processes.peak_bytes(pid)))

    def _prepare(self, hello: Hello) -> Ready | NotReady:
        if hello.protocol != PROTOCOL:
            return NotReady(f"the worker speaks protocol {PROTOCOL}, not {hello.protocol}")
        for name in hello.preload:
            try:
                importlib.import_module(name)
            except ImportError as error:
                return NotReady(f"the worker has no module {name}: {error}")
        self._limits = hello.limits
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(hello.limits.threads)
        gc.collect()
        gc.freeze()
        facts = {"machine": platform.machine(), "uid": str(os.getuid()), **_security_facts()}
        return Ready(PROTOCOL, platform.python_version(), threading.active_count(), facts)

    def _relay_answer(self, child: _Process) -> None:
        try:
            raw = stream.read_exactly(child.stream, PREFIX.size)
            prefix = read_prefix(raw)
            if prefix.channel != TO_CHILD:
                raise BadFrame("a frame for another reader")
            body = stream.read_exactly(child.stream, prefix.body_bytes)
        except (stream.Closed, OSError):
            self._finish(child, "" if child.ends_within(CLOSING_S) else "it closed its stream")
        except BadFrame as error:
            self._finish(child, bad_frame=str(error))
        else:
            stream.write_all(self._answers, raw)
            stream.write_all(self._answers, body)

    def _finish(self, child: _Process, bad_frame: str = "") -> None:
        self._child = None
        self._tell(child.end(bad_frame))

    def _tell(self, message: Message) -> None:
        stream.write_message(self._answers, TO_PARENT, message, [])


class _Process:
    """A candidate's process, its two pipes and its folder."""

    def __init__(self, pid: int, stream_fd: int, output: int, folder: Path, progress: mmap.mmap,
                 limit: int) -> None:  # fmt: skip
        self.pid, self.stream, self.output = pid, stream_fd, output
        self.flooded = False
        self.printing = True  # until its end of the pipe is closed
        self._folder, self._progress, self._limit = folder, progress, limit
        self._printed = bytearray()
        self._count = 0
        self._oom_before = processes.oom_kills()
        self._status: int | None = None

    @classmethod
    def start(cls, limits: Limits, close: list[int]) -> _Process:
        """Fork a process that serves the judge's requests under `limits`."""
        ours, theirs = socket.socketpair()
        printed, printing = os.pipe()
        os.set_blocking(printed, False)
        folder = Path(tempfile.mkdtemp(prefix="round-"))
        progress = mmap.mmap(-1, STEP.size)
        progress[:] = STEP.pack(-1)
        pid = os.fork()
        if pid == 0:
            try:
                ours.close()
                _become_child(limits, [*close, printed], printing, folder)
                Child(theirs.fileno(), folder, progress).serve()
            except stream.Closed:
                os._exit(0)
            finally:
                os._exit(SETUP_FAILED)
        theirs.close()
        os.close(printing)
        return cls(pid, ours.detach(), printed, folder, progress, limits.output_bytes)

    def is_gone(self) -> bool:
        """Whether the process itself has ended, whatever it left behind."""
        if self._status is None:
            with contextlib.suppress(ChildProcessError):
                ended, status = os.waitpid(self.pid, os.WNOHANG)
                if ended:
                    self._status = status
        return self._status is not None

    def ends_within(self, seconds: float) -> bool:
        """Whether it ends by itself: its stream closes a moment before its status is there."""
        deadline = time.monotonic() + seconds
        while not self.is_gone() and time.monotonic() < deadline:
            time.sleep(0.001)
        return self.is_gone()

    def drain(self) -> None:
        """Take what was printed; keep the head, count the rest."""
        with contextlib.suppress(BlockingIOError):
            chunk = os.read(self.output, CHUNK)
            self._count += len(chunk)
            self._printed += chunk[: OUTPUT_HEAD_BYTES - len(self._printed)]
            self.flooded = self._count > self._limit
            self.printing = bool(chunk)

    def end(self, bad_frame: str = "") -> Ended:
        """Kill it and its descendants, remove its folder, say how it went."""
        self.is_gone()
        status = processes.end_all(self.pid)
        status = status if self._status is None else self._status
        self.drain()
        os.close(self.stream)
        os.close(self.output)
        shutil.rmtree(self._folder, ignore_errors=True)
        code = os.waitstatus_to_exitcode(status)
        [step] = STEP.unpack(self._progress[:])
        return Ended(
            exit_code=code if code >= 0 else -1,
            signal=max(0, -code),
            step=step,
            out_of_memory=processes.oom_kills() > self._oom_before,
            flooded=self.flooded,
            bad_frame=bad_frame,
            output=bytes(self._printed),
        )


def _become_child(limits: Limits, close: list[int], printing: int, folder: Path) -> None:
    """Turn the fresh fork into a limited process with captured output and its own folder."""
    os.setsid()
    processes.die_with_parent()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for fd in close:
        os.close(fd)
    os.dup2(printing, 1)
    os.dup2(printing, 2)
    os.close(printing)
    os.chdir(folder)
    sys.stdin = open(os.devnull)  # noqa: SIM115 - lives as long as the process
    sys.stdout = os.fdopen(1, "w", buffering=1, errors="backslashreplace", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    sys.argv = ["candidate"]
    _limit(limits)
    _reseed()


def _limit(limits: Limits) -> None:
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.open_files,
    }
    if limits.processes:
        wanted[resource.RLIMIT_NPROC] = limits.processes
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        wanted[resource.RLIMIT_AS] = pages * resource.getpagesize() + limits.memory_bytes
    for name, value in wanted.items():
        _, hard = resource.getrlimit(name)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(name, (value, value))


def _reseed() -> None:
    """The same random state in every fork, so that a run repeats."""
    import random

    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


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
