"""The local sandbox: a process group, in its own namespaces where Linux allows it.

Practice on one's own code, not a security boundary: the worker can read this machine's files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

from harness.border.messages import Limits
from harness.sandbox import leftovers
from harness.sandbox.base import CannotStart, Ending, Spec, process_limits, worker_environment
from harness.sandbox.link import Link, Plain
from harness.worker import folders

NAMESPACES = (
    "--user",
    "--map-root-user",
    "--net",
    "--ipc",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
)
CLOSING_S = 0.5


class LocalSandbox:
    """Starts warm parents as children of this process."""

    name = "local"
    image = ""

    def start(self, spec: Spec) -> LocalRunning:
        command = [*_prefix(), sys.executable, "-I", "-m", "harness.worker"]
        _sweep_once()
        folder = _folder()
        environment = worker_environment(spec) | {"HOME": str(folder), "TMPDIR": str(folder)}
        if spec.device == "cuda":
            environment |= {k: v for k, v in os.environ.items() if k in _GPU_VARIABLES}
        ours, theirs = socket.socketpair()
        try:
            process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
                env=environment,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            folders.remove(folder)
            raise CannotStart(f"no local worker could be started: {error}") from None
        finally:
            theirs.close()
        limits = process_limits(spec, count_processes=bool(_prefix()))
        return LocalRunning(Link(ours, Plain()), limits, process, folder)

    def describe(self) -> str:
        apart = "own process, network and user namespaces" if _prefix() else "own process group"
        return f"local worker ({apart}); practice, not isolated"


_GPU_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME")


class LocalRunning:
    """A started local worker."""

    def __init__(self, link: Link, limits: Limits, process: subprocess.Popen[bytes],
                 folder: Path) -> None:  # fmt: skip
        self.link = link
        self.limits = limits
        self.expected_facts: dict[str, str] = {}
        self._process = process
        self._folder = folder

    def end(self) -> Ending:
        self.link.close()
        if not _prefix():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(CLOSING_S)  # it ends what left its group, then itself
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        exit_code = self._process.wait()
        folders.remove(self._folder)
        return Ending(exit_code=exit_code)


def _folder() -> Path:
    try:
        return leftovers.new_folder()
    except OSError as error:
        raise CannotStart(
            f"no temporary folder can be made for a local worker: {error.strerror}", "df -h"
        ) from None


@cache
def _sweep_once() -> int:
    return leftovers.sweep()


@cache
def _prefix() -> tuple[str, ...]:
    """The command that puts a worker into namespaces of its own; empty where that is refused."""
    unshare = shutil.which("unshare")
    if sys.platform != "linux" or unshare is None:
        return ()
    command = (unshare, *NAMESPACES)
    works = subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    return command if works else ()
