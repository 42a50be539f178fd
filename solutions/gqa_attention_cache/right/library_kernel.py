"""Different: torch's own attention with an explicit mask; the length is the mask's, not a sum."""

import torch
from torch.nn.functional import scaled_dot_product_attention


class KVCache:
    def __init__(self, batch, num_kv_heads, max_len, head_dim, dtype=torch.float32):
        self.k = torch.full((batch, num_kv_heads, max_len, head_dim), 7.0, dtype=dtype)
        self.v = self.k.clone()
        self.positions = torch.arange(max_len)
        self.used = torch.zeros(max_len, dtype=torch.bool)

    @property
    def length(self):
        return int(self.used.sum())

    def update(self, k_new, v_new):
        free = self.positions[~self.used]
        new = k_new.shape[-2]
        fits = (*self.k.shape[:2], new, self.k.shape[3])
        if tuple(k_new.shape) != fits or tuple(v_new.shape) != fits or new > len(free):
            raise ValueError(f"{tuple(k_new.shape)} does not fit")
        self.k.index_copy_(2, free[:new], k_new)
        self.v.index_copy_(2, free[:new], v_new)
        self.used[free[:new]] = True
        return self.k[:, :, self.used], self.v[:, :, self.used]


def attention(q, k_new, v_new, cache, scale=None):
    if q.ndim != 4 or k_new.ndim != 4 or q.shape[1] % k_new.shape[1]:
        raise ValueError("heads")
    if (q.shape[0], q.shape[2], q.shape[3]) != (k_new.shape[0], k_new.shape[2], k_new.shape[3]):
        raise ValueError("shapes")
    first = cache.length
    keys, values = cache.update(k_new, v_new)
    if q.shape[2] == 0:
        return torch.empty_like(q)
    own = torch.arange(first, first + q.shape[2])
    mask = own[:, None] >= torch.arange(keys.shape[2])
    out = scaled_dot_product_attention(
        q.float(), keys.float(), values.float(), attn_mask=mask, scale=scale, enable_gqa=True
    )
    return out.to(q.dtype)
