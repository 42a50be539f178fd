"""Python's own sine and cosine, a list for each pair, and a loop over the pairs."""

import math

import torch


def rope_frequencies(head_dim, theta=10000.0):
    if head_dim % 2 != 0 or head_dim < 0:
        raise ValueError("head_dim must be even")
    return torch.tensor(
        [math.exp(-2 * i / head_dim * math.log(theta)) for i in range(head_dim // 2)]
    )


def apply_rope(x, positions, *, theta=10000.0, interleaved=False, rotary_dim=None):
    if len(x.shape) != 4:
        raise ValueError("x must have four dimensions")
    B, _, T, D = x.shape
    r = D if rotary_dim is None else rotary_dim
    if r % 2 != 0 or r < 0 or r > D:
        raise ValueError(f"rotary_dim {r} does not suit {D} channels")
    if list(positions.shape) not in ([T], [B, T]):
        raise ValueError("one position for each token")
    rows = positions.tolist() if positions.dim() == 2 else [positions.tolist()] * B

    out = x.clone()
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    for i in range(r // 2):
        first, second = (2 * i, 2 * i + 1) if interleaved else (i, i + r // 2)
        step = theta ** (-2 * i / r)
        cos = [[math.cos(m * step) for m in row] for row in rows]
        sin = [[math.sin(m * step) for m in row] for row in rows]
        cos = torch.tensor(cos, dtype=wide.dtype, device=x.device).reshape(B, 1, T)
        sin = torch.tensor(sin, dtype=wide.dtype, device=x.device).reshape(B, 1, T)
        a, b = wide[..., first], wide[..., second]
        out[..., first] = (a * cos - b * sin).to(x.dtype)
        out[..., second] = (b * cos + a * sin).to(x.dtype)
    return out
