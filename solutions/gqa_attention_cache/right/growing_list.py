"""Different: chunks are kept in a list and the unused tail is NaN; heads are mapped one by one."""

import torch


class KVCache:
    def __init__(self, batch, num_kv_heads, max_len, head_dim, dtype=torch.float32):
        self.max_len = max_len
        self.keys = [torch.empty(batch, num_kv_heads, 0, head_dim, dtype=dtype)]
        self.values = list(self.keys)

    @property
    def length(self):
        return sum(chunk.shape[2] for chunk in self.keys)

    @property
    def k(self):
        return self.padded(self.keys)

    @property
    def v(self):
        return self.padded(self.values)

    def padded(self, chunks):
        full = torch.cat(chunks, dim=2)
        tail = full.new_full(
            (*full.shape[:2], self.max_len - full.shape[2], full.shape[3]), torch.nan
        )
        return torch.cat([full, tail], dim=2)

    def refuse(self, k_new, v_new):
        b, h, _, d = self.keys[0].shape
        if k_new.shape != v_new.shape or k_new.ndim != 4:
            raise ValueError("keys and values of one shape with 4 dimensions")
        if k_new.shape[:2] != (b, h) or k_new.shape[3] != d:
            raise ValueError("another shape than the cache")
        if self.length + k_new.shape[2] > self.max_len:
            raise ValueError("no room")

    def update(self, k_new, v_new):
        self.refuse(k_new, v_new)
        self.keys.append(k_new.clone())
        self.values.append(v_new.clone())
        return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)


def attention(q, k_new, v_new, cache, scale=None):
    cache.refuse(k_new, v_new)
    if q.ndim != 4 or q.shape[1] % k_new.shape[1]:
        raise ValueError("query heads")
    if q.select(1, 0).shape != k_new.select(1, 0).shape:
        raise ValueError("queries")
    past = cache.length
    k, v = cache.update(k_new, v_new)
    group = q.shape[1] // k.shape[1]
    scale = 1 / q.shape[3] ** 0.5 if scale is None else scale
    bias = torch.zeros(q.shape[2], k.shape[2])
    bias[torch.ones_like(bias).triu(past + 1) == 1] = -torch.inf
    heads = []
    for h in range(q.shape[1]):
        logits = torch.einsum("btd,bsd->bts", q[:, h].float() * scale, k[:, h // group].float())
        weights = torch.softmax(logits + bias, dim=2)
        heads.append(torch.einsum("bts,bsd->btd", weights, v[:, h // group].float()))
    return torch.stack(heads, dim=1).to(q.dtype)
