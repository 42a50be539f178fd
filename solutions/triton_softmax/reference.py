"""Softmax over rows as one Triton kernel: a program a row, a tile at a time, so any width works.

The running maximum and sum are those of "Online normalizer calculation for softmax" (Milakov and
Gimelshein, 2018): with m the maximum so far and s the sum of exp(x - m), a tile with maximum t
gives m' = max(m, t) and s' = s * exp(m - m') + sum(exp(x - m')).
"""

import torch
import triton
import triton.language as tl

BLOCK = 1024  # columns a program holds at once


@triton.jit
def softmax_kernel(
    x_ptr,
    out_ptr,
    num_cols,
    x_row_stride,
    x_col_stride,
    out_row_stride,
    BLOCK: tl.constexpr,
):
    """Program `i` writes row `i` of the output."""
    row = tl.program_id(0).to(tl.int64)  # a row's offset may need more than 32 bits
    x_row = x_ptr + row * x_row_stride
    out_row = out_ptr + row * out_row_stride
    lanes = tl.arange(0, BLOCK)

    peak = float("-inf")
    total = 0.0
    for start in range(0, num_cols, BLOCK):
        cols = start + lanes
        inside = cols < num_cols
        x = tl.load(x_row + cols * x_col_stride, mask=inside, other=float("-inf")).to(tl.float32)
        new_peak = tl.maximum(peak, tl.max(x, axis=0))
        shift = tl.where(new_peak == float("-inf"), 0.0, new_peak)  # -inf - -inf is NaN
        total = total * tl.exp(peak - shift) + tl.sum(tl.exp(x - shift), axis=0)
        peak = new_peak

    for start in range(0, num_cols, BLOCK):
        cols = start + lanes
        inside = cols < num_cols
        x = tl.load(x_row + cols * x_col_stride, mask=inside, other=float("-inf")).to(tl.float32)
        y = tl.exp(x - peak) / total
        tl.store(out_row + cols, y.to(out_ptr.dtype.element_ty), mask=inside)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """The softmax of each row of `x[M, N]`, in the dtype of `x`."""
    if x.dim() != 2:
        raise ValueError(f"x has {x.dim()} dimensions, not 2")
    num_rows, num_cols = x.shape
    out = torch.empty((num_rows, num_cols), dtype=x.dtype, device=x.device)
    if out.numel() == 0:
        return out
    softmax_kernel[(num_rows,)](
        x, out, num_cols, x.stride(0), x.stride(1), out.stride(0), BLOCK=BLOCK
    )
    return out
