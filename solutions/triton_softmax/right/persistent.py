"""Different: a few programs walk all rows of a padded fp32 copy; torch copies, slices and casts."""

import torch
import triton
import triton.language as tl

PROGRAMS = 8


@triton.jit
def walk(src, dst, num_rows, pitch, SIZE: tl.constexpr):
    for row in range(tl.program_id(0), num_rows, tl.num_programs(0)):
        base = (tl.full((), 0, tl.int64) + row) * pitch
        peak = tl.full((), float("-inf"), tl.float32)
        for first in range(0, pitch, SIZE):
            peak = tl.maximum(
                peak, tl.max(tl.load(src + base + first + tl.arange(0, SIZE)), axis=0)
            )
        total = tl.full((), 0.0, tl.float32)
        for first in range(0, pitch, SIZE):
            e = tl.exp(tl.load(src + base + first + tl.arange(0, SIZE)) - peak)
            tl.store(dst + base + first + tl.arange(0, SIZE), e)
            total += tl.sum(e, axis=0)
        for first in range(0, pitch, SIZE):
            at = dst + base + first + tl.arange(0, SIZE)
            tl.store(at, tl.load(at) / total)


def softmax(x: torch.Tensor) -> torch.Tensor:
    if x.dim() != 2:
        raise ValueError(x.shape)
    rows, cols = x.shape
    if rows == 0 or cols == 0:
        return torch.zeros_like(x)
    size = min(1024, triton.next_power_of_2(cols))
    pitch = triton.cdiv(cols, size) * size
    padded = torch.full((rows, pitch), float("-inf"), device=x.device)
    padded[:, :cols] = x
    result = torch.empty_like(padded)
    walk[(min(PROGRAMS, rows),)](padded, result, rows, pitch, SIZE=size)
    return result[:, :cols].to(x.dtype)
