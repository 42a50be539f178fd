"""Grouped-query attention with a preallocated cache: one masked softmax over all that is cached."""

import torch
from torch import Tensor


class KVCache:
    """Keys and values of one layer; `length` slots of each row hold a token."""

    def __init__(self, batch, num_kv_heads, max_len, head_dim, dtype=torch.float32):
        shape = (batch, num_kv_heads, max_len, head_dim)
        self.k = torch.zeros(shape, dtype=dtype)
        self.v = torch.zeros(shape, dtype=dtype)
        self.length = 0

    def update(self, k_new: Tensor, v_new: Tensor) -> tuple[Tensor, Tensor]:
        self.check(k_new, v_new)
        start, stop = self.length, self.length + k_new.shape[2]
        self.k[:, :, start:stop] = k_new
        self.v[:, :, start:stop] = v_new
        self.length = stop
        return self.k[:, :, :stop], self.v[:, :, :stop]

    def check(self, k_new: Tensor, v_new: Tensor) -> None:
        """Refuse what does not fit, before anything is written."""
        batch, kv_heads, max_len, head_dim = self.k.shape
        if k_new.ndim != 4 or k_new.shape != (batch, kv_heads, k_new.shape[2], head_dim):
            raise ValueError(f"keys of shape {tuple(k_new.shape)} in {tuple(self.k.shape)}")
        if v_new.shape != k_new.shape:
            raise ValueError(f"values {tuple(v_new.shape)} for keys {tuple(k_new.shape)}")
        if self.length + k_new.shape[2] > max_len:
            raise ValueError(f"{k_new.shape[2]} more tokens, {max_len - self.length} slots left")


def attention(q: Tensor, k_new: Tensor, v_new: Tensor, cache: KVCache, scale=None) -> Tensor:
    """softmax(scale * q k^T) v with `Hq // Hkv` query heads to a KV head (Ainslie et al. 2023)."""
    cache.check(k_new, v_new)
    batch, kv_heads, new, head_dim = k_new.shape
    if q.ndim != 4 or q.shape != (batch, q.shape[1], new, head_dim):
        raise ValueError(f"queries {tuple(q.shape)} for keys {tuple(k_new.shape)}")
    if q.shape[1] % kv_heads:
        raise ValueError(f"{q.shape[1]} query heads do not share {kv_heads} KV heads evenly")
    if scale is None:
        scale = head_dim**-0.5

    past = cache.length
    k, v = cache.update(k_new, v_new)
    group = q.shape[1] // kv_heads
    queries = q.float().unflatten(1, (kv_heads, group))  # (batch, kv head, group, new, dim)
    scores = scale * (queries @ k.float().unsqueeze(2).mT)  # (batch, kv head, group, new, all)

    own_position = past + torch.arange(new, device=q.device)[:, None]
    later = torch.arange(past + new, device=q.device) > own_position  # (new, all)
    weights = scores.masked_fill(later, float("-inf")).softmax(dim=-1)
    out = weights @ v.float().unsqueeze(2)  # (batch, kv head, group, new, dim)
    return out.flatten(1, 2).to(q.dtype)
