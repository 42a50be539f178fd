"""The names of what can go wrong, and whose it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from harness.border.messages import Where


class Kind(Enum):
    """A fault's name, in the words a report uses."""

    WRONG = "wrong answer"
    RAISED = "raised"
    CRASHED = "crashed"
    HUNG = "hung"
    OUT_OF_MEMORY = "out of memory"
    FLOODED = "flooded output"
    PROTOCOL = "broke the protocol"
    LEAKS = "state leaks between calls"
    NOT_IMPORTABLE = "not importable"
    OURS = "our fault"


@dataclass(frozen=True, slots=True)
class Fault:
    """What happened to one call. `step` is its position in the program that crossed, -1 unknown."""

    kind: Kind
    words: str
    step: int = -1
    error: Where | None = None
    output: bytes = b""


class CandidateFault(Exception):
    """The candidate's doing. An ordinary exception, so that Hypothesis shrinks it."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(f"{fault.kind.value}: {fault.words}")
        self.fault = fault


class OurFault(BaseException):
    """The harness, the image, the engine or the machine failed. Leaves Hypothesis at once."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class CannotAssess(BaseException):
    """This check cannot be assessed on this machine; the reason begins "needs a"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class SandboxLost(BaseException):
    """A sandbox is gone and nothing says whose doing it was: once a check that is tried again.

    `fault` is what it is called when it happens again. Leaves Hypothesis at once.
    """

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.words)
        self.fault = fault


class TimeSpent(BaseException):
    """The budget of this check or of the whole run is used up. Leaves Hypothesis at once."""
