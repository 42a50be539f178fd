"""Different: slots are stored before heads, and each new token attends in a loop of its own."""

import torch


class KVCache:
    def __init__(self, batch, num_kv_heads, max_len, head_dim, dtype=torch.float32):
        self.slots = torch.empty(2, max_len, batch, num_kv_heads, head_dim, dtype=dtype)
        self.length = 0

    @property
    def k(self):
        return self.slots[0].permute(1, 2, 0, 3)

    @property
    def v(self):
        return self.slots[1].permute(1, 2, 0, 3)

    def update(self, k_new, v_new):
        max_len, batch, kv_heads, head_dim = self.slots.shape[1:]
        for new in (k_new, v_new):
            if new.dim() != 4:
                raise ValueError(f"{new.dim()} dimensions")
            if (new.size(0), new.size(1), new.size(3)) != (batch, kv_heads, head_dim):
                raise ValueError(f"wrong shape {tuple(new.shape)}")
        if k_new.size(2) != v_new.size(2):
            raise ValueError("as many keys as values, please")
        if k_new.size(2) > max_len - self.length:
            raise ValueError("the cache is full")
        for k_token, v_token in zip(k_new.unbind(2), v_new.unbind(2), strict=True):
            self.slots[0, self.length] = k_token
            self.slots[1, self.length] = v_token
            self.length += 1
        return self.k[:, :, : self.length], self.v[:, :, : self.length]


def attention(q, k_new, v_new, cache, scale=None):
    if q.dim() != 4 or k_new.dim() != 4:
        raise ValueError("wanted four dimensions")
    batch, num_heads, new, head_dim = q.shape
    if (batch, new, head_dim) != (k_new.size(0), k_new.size(2), k_new.size(3)):
        raise ValueError(f"{tuple(q.shape)} against {tuple(k_new.shape)}")
    if num_heads % k_new.size(1) != 0:
        raise ValueError("query heads do not divide evenly")
    past = cache.length
    k, v = cache.update(k_new, v_new)
    out = torch.zeros(q.shape, dtype=q.dtype)
    for i in range(new):
        seen = past + i + 1
        keys = k[:, :, :seen].float().repeat_interleave(num_heads // k.size(1), dim=1)
        values = v[:, :, :seen].float().repeat_interleave(num_heads // k.size(1), dim=1)
        logits = (keys * q[:, :, i, None].float()).sum(-1)
        logits = logits / head_dim**0.5 if scale is None else logits * scale
        weights = torch.exp(logits - logits.amax(-1, keepdim=True))
        weighted = (weights[..., None] * values).sum(2)
        out[:, :, i] = weighted / weights.sum(-1, keepdim=True)
    return out
