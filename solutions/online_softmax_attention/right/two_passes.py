"""Different: one pass over the keys for the log-sum-exp, a second for the output."""

import torch


def attention(q, k, v, *, block_size=128, causal=False, scale=None):
    if block_size <= 0:
        raise ValueError("block_size")
    if q.dim() != 4 or k.dim() != 4 or v.dim() != 4:
        raise ValueError("dimensions")
    b, h, t, d = q.shape
    s = k.shape[2]
    if k.shape != (b, h, s, d) or v.shape != (b, h, s, v.shape[3]):
        raise ValueError("shapes")
    factor = 1.0 / d**0.5 if scale is None else scale

    def blocks():
        rows = torch.arange(t)
        for keys in torch.arange(s).split(block_size):
            if not len(keys):
                continue
            scores = torch.einsum("bhtd,bhsd->bhts", q.float(), k[:, :, keys].float()) * factor
            if causal:
                scores[:, :, rows[:, None] < keys - (s - t)] = -torch.inf
            yield keys, scores

    lse = torch.full((b, h, t), -torch.inf)
    for _, scores in blocks():
        lse = torch.logaddexp(lse, torch.logsumexp(scores, dim=-1))
    empty = torch.isneginf(lse)
    out = torch.zeros(b, h, t, v.shape[3])
    for keys, scores in blocks():
        p = torch.exp(scores - lse.masked_fill(empty, 0.0)[..., None])
        out += p @ v[:, :, keys].float()
    return out.to(q.dtype), lse
