"""Softmax attention in float64, and how far an honest float32 computation may be from it.

Imported by suites of torch problems only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from harness.suite.tolerance import ulp

ROUNDOFF = 2.0**-24  # of one float32 operation, relative
LEAST_WEIGHT = 2.0**-126  # a float32 weight below this may be 0


@dataclass(frozen=True, slots=True)
class Dense:
    """The answer in float64, and beside it what float32 arithmetic may add to each element."""

    out: Tensor  # [..., T, Dv]
    lse: Tensor  # [..., T]
    out_error: Tensor
    lse_error: Tensor

    def out_allowed(self, dtype: torch.dtype) -> Tensor:
        """The margin of an output that is rounded once, at the end, to `dtype`."""
        return self.out_error + ulp(self.out.abs() + self.out_error, dtype)

    def lse_allowed(self) -> Tensor:
        """The margin of a float32 log-sum-exp."""
        finite = self.lse.masked_fill(self.lse.isinf(), 0.0)
        return self.lse_error + ulp(finite, torch.float32)


def dense_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    scale: float | None = None,
    seen: Tensor | None = None,
    blocks: int = 1,
) -> Dense:
    """Attention of q [..., T, D] over k [..., S, D] and v [..., S, Dv].

    `seen` [T, S] is True where a query may look; a row that sees nothing gives 0 and -inf. `blocks`
    is in how many parts the keys may have been visited and their answers merged.

    The margin follows the arithmetic: a score carries the rounding of its products, a weight that
    of its score and of every merge, the output that of its sums. It is largest where scores are,
    and a score rounded to bfloat16 or TF32 is far outside it.
    """
    q, k, v = q.double(), k.double(), v.double()
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = scale * (q @ k.mT)
    products = abs(scale) * (q.abs() @ k.abs().mT)  # what the terms of a score add up to
    if seen is not None:
        scores = scores.masked_fill(~seen, -math.inf)
    lse = scores.logsumexp(-1) if k.shape[-2] else scores.sum(-1) - math.inf
    share = torch.exp(scores - lse.nan_to_num(neginf=0.0)[..., None])
    out = share @ v

    level = lse.abs().nan_to_num(posinf=0.0)[..., None]
    height = products + level
    score_error = ROUNDOFF * ((q.shape[-1] + 4) * products + 4 * height)
    weight_error = torch.expm1(score_error) + 4 * (blocks + 1) * ROUNDOFF
    sum_error = ROUNDOFF * (k.shape[-2] + 4 * blocks + 4 + (blocks + 2) * (level + 32))
    apart = (v[..., None, :, :] - out[..., None, :]).abs()  # (..., T, S, Dv)
    out_error = ((share * weight_error)[..., None] * apart).sum(-2)
    out_error = out_error + sum_error * (share @ v.abs())
    if k.shape[-2]:
        out_error = out_error + k.shape[-2] * LEAST_WEIGHT * v.abs().amax(-2, keepdim=True)
    lse_error = (share * weight_error).sum(-1, keepdim=True) + sum_error
    return Dense(out, lse, out_error, lse_error.squeeze(-1))
