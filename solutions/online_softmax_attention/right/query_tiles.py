"""Different: tiles of queries outside, keys inside up to the tile's last, and powers of two."""

import math

import torch

TILE = 32  # queries


def attention(q, k, v, *, block_size=128, causal=False, scale=None):
    if not block_size >= 1:
        raise ValueError(f"block_size {block_size}")
    if len(q.shape) != 4 or len(k.shape) != 4 or len(v.shape) != 4:
        raise ValueError("four dimensions")
    (b, h, t, d), s, dv = q.shape, k.shape[2], v.shape[3]
    if tuple(k.shape) != (b, h, s, d) or tuple(v.shape) != (b, h, s, dv):
        raise ValueError("shapes")
    scale = 1 / math.sqrt(d) if scale is None else scale
    out = torch.zeros(b, h, t, dv, dtype=q.dtype)
    lse = torch.full((b, h, t), -math.inf)
    for top in range(0, t, TILE):
        rows = torch.arange(top, min(top + TILE, t))
        first = top + s - t + 1 if causal else s  # keys that the tile's first row sees
        limit = min(s, first + len(rows) - 1) if causal else s
        tile = q[:, :, top : top + TILE].float()
        m = torch.full((b, h, len(rows)), -torch.finfo(torch.float32).max)
        total = torch.zeros_like(m)
        acc = torch.zeros(b, h, len(rows), dv)
        for start in range(0, limit, block_size):
            stop = min(start + block_size, limit)
            logits = tile @ k[:, :, start:stop].float().mT * (scale * math.log2(math.e))
            seen = torch.ones(len(rows), stop - start, dtype=torch.bool)
            if causal:
                seen = torch.arange(start, stop)[None, :] < first + torch.arange(len(rows))[:, None]
            logits = logits.where(seen, torch.tensor(-torch.inf))
            m_new = m.maximum(logits.amax(-1))
            p = torch.exp2(logits - m_new[..., None])
            alpha = torch.exp2(m - m_new)
            total = total * alpha + p.sum(-1)
            acc = acc * alpha[..., None] + p @ v[:, :, start:stop].float()
            m = m_new
        lse[:, :, rows] = torch.log(total) + m * math.log(2)
        out[:, :, rows] = (acc / total.clamp_min(1e-30)[..., None]).to(q.dtype)
    return out, lse
