"""What every sandbox offers: start a warm parent, and end it with all it started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from harness.border.messages import Limits
from harness.sandbox.link import Link

MIB = 1024 * 1024


class CannotStart(Exception):
    """Ours or the machine's: no engine, no image, no worker. Says the one command that helps."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Spec:
    """What one submission's sandbox has to provide.

    `memory_bytes` is what the candidate may use on top of the imported modules.
    """

    preload: tuple[str, ...] = ()
    device: str = "cpu"
    threads: int = 1
    memory_bytes: int = 2048 * MIB
    file_bytes: int = 64 * MIB
    output_bytes: int = 4 * MIB
    processes: int = 64
    open_files: int = 256


@dataclass(frozen=True, slots=True)
class Ending:
    """How a sandbox ended, as its keeper saw it; `keeper_lost`: the keeper cannot be reached."""

    exit_code: int | None = None
    out_of_memory: bool = False
    keeper_lost: bool = False
    note: str = ""


class Running(Protocol):
    """One started sandbox. Used for one submission, never again."""

    link: Link
    limits: Limits
    expected_facts: dict[str, str]  # what the parent has to say of itself when it is ready

    def end(self) -> Ending:
        """Kill everything inside and remove it; may be called twice."""


class Sandbox(Protocol):
    """A way to start workers."""

    name: str

    @property
    def image(self) -> str:
        """What a worker's code comes from, as a digest; "" where it is this harness's own."""

    def start(self, spec: Spec) -> Running:
        """Start a warm parent and return at once; raise `CannotStart`."""

    def describe(self) -> str:
        """One line for reports: what isolates the candidate, and what does not."""


def worker_environment(spec: Spec) -> dict[str, str]:
    """The whole environment of a worker: nothing of the judge's own crosses."""
    threads = str(spec.threads)
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        **({"TRITON_INTERPRET": "1"} if spec.device == "cpu" and "triton" in spec.preload else {}),
    }


def process_limits(spec: Spec, *, count_processes: bool, alone: bool = False) -> Limits:
    """What the warm parent enforces on each process.

    Processes are counted by the kernel per user, so only in a user namespace of its own; elsewhere
    (`processes` 0) the sandbox has to bound them itself.
    """
    return Limits(
        # CUDA reserves address space far beyond what it uses: there the sandbox has to bound it.
        memory_bytes=0 if spec.device == "cuda" else spec.memory_bytes,
        file_bytes=spec.file_bytes,
        output_bytes=spec.output_bytes,
        processes=spec.processes if count_processes else 0,
        open_files=spec.open_files,
        threads=spec.threads,
        alone=alone,
    )
