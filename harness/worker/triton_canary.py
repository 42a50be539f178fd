"""A kernel with one fault of each kind, run once to prove that the watch sees them all.

It stands alone: Triton's interpreter puts its own names into the module of every kernel it runs.
"""

import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator]
def faulty_kernel(x_ptr, out_ptr, size, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Read one element too many, write one element from every program, use a left-out lane."""
    program = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    past_the_end = tl.sum(tl.load(x_ptr + lanes, mask=lanes < size + 1, other=0.0), axis=0)
    tl.store(out_ptr, past_the_end)
    nothing = tl.load(x_ptr + lanes, mask=lanes < 0)
    tl.store(out_ptr + 1 + program * BLOCK + lanes, nothing)
