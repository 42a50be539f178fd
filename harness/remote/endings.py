"""How a candidate's process and its sandbox ended, in the words of a fault."""

from __future__ import annotations

from harness.border.messages import Ended
from harness.remote.faults import Kind
from harness.sandbox.base import Ending, Running


def ended_whole(running: Running) -> Ending:
    """End a sandbox, also when somebody stops the judge in the middle of it."""
    try:
        return running.end()
    except KeyboardInterrupt:
        running.end()
        raise


def why_ended(ended: Ended) -> tuple[Kind, str]:
    """The fault that a parent's account of its child's end stands for."""
    if ended.flooded:
        return Kind.FLOODED, "it printed more than its limit"
    if ended.bad_frame:
        return Kind.PROTOCOL, ended.bad_frame
    if ended.out_of_memory and ended.signal == 9:
        return Kind.OUT_OF_MEMORY, "it used more than its memory limit"
    if ended.signal:
        return Kind.CRASHED, f"the process was ended by signal {ended.signal}"
    return Kind.CRASHED, f"the process exited with status {ended.exit_code}"
