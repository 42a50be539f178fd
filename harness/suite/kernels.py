"""What a suite says of a Triton kernel: where it reads and writes, what its programs share, whose
work it is.

The facts come from `harness.worker.triton_watch`, in the candidate's own process: they find the
mistakes of honest code. What they cannot tell on this machine is not assessed.
"""

from __future__ import annotations

from typing import Any

from harness.remote.faults import CannotAssess
from harness.suite.calls import Broke
from harness.suite.candidate import Reply

ALLOCATES = frozenset(
    {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "zeros",
     "zeros_like", "new_zeros", "zero_", "ones", "ones_like", "new_ones", "full", "full_like",
     "new_full", "fill_", "fill", "scalar_tensor", "arange", "lift_fresh", "resize_", "set_"}
)  # fmt: skip
COPIES = frozenset(
    {"copy_", "copy", "to", "_to_copy", "type_as", "clone", "contiguous", "cat", "concat",
     "concatenate", "stack", "hstack", "vstack", "repeat", "tile", "pad", "constant_pad_nd",
     "slice_scatter", "select_scatter", "narrow_copy"}
)  # fmt: skip
RESHAPES = frozenset(
    {"view", "view_as", "_unsafe_view", "view_as_real", "reshape", "reshape_as", "_reshape_alias",
     "as_strided", "as_strided_", "transpose", "transpose_", "t", "t_", "numpy_T", "mT", "mH",
     "adjoint", "swapaxes", "swapdims", "movedim", "permute", "expand", "expand_as",
     "broadcast_to", "slice", "select", "narrow", "squeeze", "squeeze_", "unsqueeze",
     "unsqueeze_", "flatten", "unflatten", "ravel", "atleast_1d", "atleast_2d", "atleast_3d",
     "detach", "detach_", "alias", "unbind", "split", "split_with_sizes", "chunk",
     "tensor_split", "hsplit", "vsplit", "unfold", "is_pinned", "is_same_size"}
)  # fmt: skip
# What torch may run beside a kernel. Under inference mode it is seen before it is taken apart.
BESIDE_A_KERNEL = ALLOCATES | COPIES | RESHAPES
DOES = {"load": "reads", "store": "writes", "atomic": "updates"}


def stays_inside(reply: Reply, allowed: str) -> None:
    """Break when a kernel read or wrote outside its tensors. `allowed` says what is inside."""
    facts = _facts(reply, "bounds")
    for found in facts.get("out_of_bounds", []):
        more = f"and {found['lanes'] - 1:,} lanes more, " if found["lanes"] > 1 else ""
        where = _place(found["offset"], found["size"])
        raise Broke(
            f"a kernel that touches {allowed}, and nothing else",
            f"{_who(found)} {DOES[found['access']]} {found['item']} bytes {where} {found['arg']}"
            f" ({more}line {found['line']})",
            at=reply,
        )


def leaves_guards_alone(reply: Reply) -> None:
    """Break when what lies around the memory that torch allocated in the call was written."""
    facts = _facts(reply, "guards")
    for found in facts.get("broken_guards", []):
        where = _place(found["offset"], found["size"])
        raise Broke(
            "writes inside what the call allocates",
            f"a write {where} a tensor of shape {found['shape']}",
            at=reply,
        )


def shares_nothing_written(reply: Reply) -> None:
    """Break when two programs of a launch touched one element and one of them wrote it."""
    facts = _facts(reply, "races")
    for found in facts.get("races", []):
        other = f"program {tuple(found['other_program'])} {DOES[found['other_access']]} it too"
        raise Broke(
            "each element touched by one program, where any writes it",
            f"{_who(found)} {DOES[found['access']]} byte {found['offset']} of {found['arg']}, "
            f"and {other} (line {found['line']})",
            at=reply,
        )


def done_in_a_kernel(reply: Reply, *, launched: bool = True) -> None:
    """Break when torch computed, values left torch, or, if `launched`, no kernel ran."""
    facts = _facts(reply, "launches")
    for seen in facts.get("torch_ops", []):
        family, _, name = seen["op"].partition(".")
        if family not in ("aten", "prim") or name not in BESIDE_A_KERNEL:
            times = f"{seen['count']} times" if seen["count"] > 1 else "once"
            raise Broke(
                "the work done in a Triton kernel; torch allocates, copies and reshapes",
                f"{seen['op']}, run {times} (line {seen['line']})",
                at=reply,
            )
    if launched and not facts.get("num_launches", 0):
        raise Broke("a Triton kernel that is launched", "no launch of any kernel", at=reply)


def _facts(reply: Reply, check: str) -> dict[str, Any]:
    """What was observed of a call that returned."""
    _ = reply.value
    if check in reply.not_checked:
        reason = reply.not_checked[check]
        raise CannotAssess(f"needs a check of {check} that works here: {reason}")
    facts = reply.asked.observed
    unseen = facts.get("not_checked", {check: "nothing was observed"})
    if check in unseen:
        raise Broke("a call that can be watched", f"one that was not: {unseen[check]}", at=reply)
    return facts


def _who(found: dict[str, Any]) -> str:
    return f"program {tuple(found['program'])} of {found['kernel']}"


def _place(offset: int, size: int) -> str:
    """Where bytes lie that are outside: before, after, or in a gap of a tensor."""
    if offset < 0:
        return f"{-offset} bytes before the start of"
    if offset >= size:
        past = offset - size
        return f"{past} bytes past the end of" if past else "right after the end of"
    return f"at byte {offset}, between the elements of"
