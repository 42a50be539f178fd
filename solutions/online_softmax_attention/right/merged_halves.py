"""Different: the keys are halved down to a block, and the two answers merged by their weights."""

from typing import NamedTuple

import torch


class Attended(NamedTuple):
    out: torch.Tensor
    lse: torch.Tensor


def attention(q, k, v, *, block_size=128, causal=False, scale=None):
    if block_size < 1 or any(x.ndim != 4 for x in (q, k, v)):
        raise ValueError("block size or dimensions")
    if q.shape[:2] != k.shape[:2] or k.shape[:3] != v.shape[:3] or q.shape[-1] != k.shape[-1]:
        raise ValueError("shapes")
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    offset = k.shape[2] - q.shape[2]
    result = part(q.float(), k, v, 0, k.shape[2], block_size, offset if causal else None, scale)
    return Attended(result.out.to(q.dtype), result.lse)


def part(q, k, v, start, stop, block_size, offset, scale):
    if stop - start > block_size:
        middle = (start + stop) // 2
        left = part(q, k, v, start, middle, block_size, offset, scale)
        right = part(q, k, v, middle, stop, block_size, offset, scale)
        return merge(left, right)
    if stop == start:
        nothing = q.new_zeros(*q.shape[:3], v.shape[3])
        return Attended(nothing, torch.full(q.shape[:3], -torch.inf))
    scores = q.matmul(k[:, :, start:stop].float().transpose(2, 3)).mul(scale)
    if offset is not None:
        limit = torch.arange(q.shape[2]).add(offset).view(-1, 1)
        scores = torch.where(torch.arange(start, stop) <= limit, scores, -torch.inf)
    lse = scores.logsumexp(-1)
    weights = torch.nan_to_num(scores.softmax(-1), nan=0.0)  # a row that sees nothing here
    return Attended(weights @ v[:, :, start:stop].float(), lse)


def merge(left, right):
    lse = torch.logaddexp(left.lse, right.lse)
    shares = [(p.lse - lse).exp().nan_to_num(nan=0.0).unsqueeze(-1) for p in (left, right)]
    return Attended(shares[0] * left.out + shares[1] * right.out, lse)
