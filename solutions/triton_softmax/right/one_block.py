"""Different: a whole row sits in one power-of-two block, read once, with exp2 for exp."""

import torch
import triton
import triton.language as tl

LOG2_E = 1.4426950408889634


@triton.jit
def whole_row(x, out, n, step_row, step_col, LOG2_E: tl.constexpr, WIDTH: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, WIDTH).to(tl.int64)
    values = tl.load(x + i * step_row + j * step_col, mask=j < n, other=-float("inf"))
    values = values.to(tl.float32)
    raised = tl.exp2((values - tl.max(values, axis=0)) * LOG2_E)
    tl.store(out + i * n + j, raised / tl.sum(raised, axis=0), mask=j < n)


def softmax(x):
    if x.ndim != 2:
        raise ValueError("softmax takes a matrix")
    m, n = x.shape
    out = torch.empty(m, n, dtype=x.dtype, device=x.device)
    if m and n:
        width = triton.next_power_of_2(n)
        warps = min(16, max(1, width // 512))
        whole_row[(m,)](x, out, n, *x.stride(), LOG2_E=LOG2_E, WIDTH=width, num_warps=warps)
    return out
