"""One candidate's process: forked, limited, listened to, ended with all it started."""

from __future__ import annotations

import contextlib
import mmap
import os
import resource
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path

from harness.border.messages import Ended, Limits
from harness.worker import folders, processes
from harness.worker.child import STEP, Child
from harness.worker.stream import Closed

CHUNK = 1 << 20
OUTPUT_HEAD_BYTES = 16 * 1024
SETUP_FAILED = 70  # the exit status of a child that could not be set up or lost its stream


class Process:
    """A candidate's process, its two pipes and its folder."""

    def __init__(
        self,
        pid: int,
        stream: socket.socket,
        output: int,
        folder: Path,
        progress: mmap.mmap,
        limit: int,
    ) -> None:
        self.pid, self.stream, self.output = pid, stream, output
        self.flooded = False
        self.printing = True  # until its end of the pipe is closed
        self._folder, self._progress, self._limit = folder, progress, limit
        self._printed = bytearray()
        self._count = 0
        self._oom_before = processes.oom_kills()
        self._status: int | None = None

    @classmethod
    def start(cls, limits: Limits, close: list[int]) -> Process:
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
            except Closed:
                os._exit(0)
            finally:
                os._exit(SETUP_FAILED)
        theirs.close()
        os.close(printing)
        return cls(pid, ours, printed, folder, progress, limits.output_bytes)

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
        self.stream.close()
        os.close(self.output)
        folders.remove(self._folder)
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
    processes.give_up_privileges()
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
    if sys.platform == "linux" and limits.memory_bytes:
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
