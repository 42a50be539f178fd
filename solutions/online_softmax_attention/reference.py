"""Attention in one pass over blocks of keys, with a running maximum, sum and weighted sum."""

import torch
from torch import Tensor

NOTHING = float("-inf")  # the logarithm of an empty sum


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    block_size: int = 128,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Online softmax (Milakov and Gimelshein 2018), as in FlashAttention (Dao et al. 2022).

    Of the keys seen so far a row keeps their greatest score m, the sum of exp(score - m), and the
    sum of exp(score - m) * value. A new m multiplies both sums by exp(old m - new m).
    """
    check(q, k, v, block_size)
    batch, heads, num_queries, head_dim = q.shape
    num_keys = k.shape[2]
    if scale is None:
        scale = head_dim**-0.5

    queries = q.float() * scale
    peak = queries.new_full((batch, heads, num_queries, 1), NOTHING)
    total = torch.zeros_like(peak)
    acc = queries.new_zeros((batch, heads, num_queries, v.shape[3]))
    last_seen = torch.arange(num_queries, device=q.device)[:, None] + num_keys - num_queries

    for start in range(0, num_keys, block_size):
        stop = min(start + block_size, num_keys)
        scores = queries @ k[:, :, start:stop].float().mT  # (batch, heads, queries, block)
        if causal:
            hidden = torch.arange(start, stop, device=q.device) > last_seen
            scores = scores.masked_fill(hidden, NOTHING)
        new_peak = torch.maximum(peak, scores.amax(dim=-1, keepdim=True))
        base = new_peak.masked_fill(new_peak == NOTHING, 0.0)  # -inf - -inf would be NaN
        weights = torch.exp(scores - base)
        fade = torch.exp(peak - base)
        total = fade * total + weights.sum(dim=-1, keepdim=True)
        acc = fade * acc + weights @ v[:, :, start:stop].float()
        peak = new_peak

    out = acc / total.masked_fill(total == 0, 1.0)
    lse = peak + torch.log(total)
    return out.to(q.dtype), lse.squeeze(-1)


def check(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> None:
    """Refuse shapes that do not agree, broadcastable ones too."""
    if block_size < 1:
        raise ValueError(f"a block of {block_size} keys")
    if not q.ndim == k.ndim == v.ndim == 4:
        raise ValueError(f"wanted 4 dimensions, got {q.ndim}, {k.ndim} and {v.ndim}")
    if q.shape[:2] != k.shape[:2] or q.shape[3] != k.shape[3]:
        raise ValueError(f"queries {tuple(q.shape)} and keys {tuple(k.shape)} do not agree")
    if k.shape[:3] != v.shape[:3]:
        raise ValueError(f"keys {tuple(k.shape)} and values {tuple(v.shape)} do not agree")
