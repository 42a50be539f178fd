"""Every channel looks up its partner, its sign and its angle: one gather, no taking apart."""

from functools import lru_cache

import torch
from torch import Tensor


@lru_cache
def _frequencies(head_dim: int, theta: float) -> tuple[float, ...]:
    return tuple(theta ** (-2.0 * i / head_dim) for i in range(head_dim // 2))


def rope_frequencies(head_dim: int, theta: float = 10000.0) -> Tensor:
    if head_dim < 0 or head_dim & 1:
        raise ValueError(f"an even head_dim is needed, not {head_dim}")
    return torch.tensor(_frequencies(head_dim, theta))


def apply_rope(x, positions, *, theta=10000.0, interleaved=False, rotary_dim=None):
    if x.dim() != 4:
        raise ValueError("x is not [B, H, T, D]")
    r = x.size(-1) if rotary_dim is None else rotary_dim
    if not 0 <= r <= x.size(-1) or r & 1:
        raise ValueError(f"cannot rotate {r} of {x.size(-1)} channels")
    if positions.shape == x.shape[2:3]:
        positions = positions.unsqueeze(0)
    elif positions.shape != (x.size(0), x.size(2)):
        raise ValueError(f"no position for every token: {tuple(positions.shape)}")

    channel = torch.arange(r, device=x.device)
    if interleaved:
        pair, partner, is_first = channel // 2, channel ^ 1, channel % 2 == 0
    else:
        half = r // 2
        pair, partner, is_first = channel % half, (channel + half) % r, channel < half
    frequencies = torch.tensor(_frequencies(r, theta), dtype=torch.float64, device=x.device)
    angle = positions.double()[:, None, :, None] * frequencies[pair]
    working = torch.float64 if x.dtype == torch.float64 else torch.float32
    sign = torch.where(is_first, -1.0, 1.0).to(working)
    turning = x.narrow(-1, 0, r).to(working)
    out = turning * torch.cos(angle).to(working)
    out += turning[..., partner] * (sign * torch.sin(angle).to(working))
    return torch.cat([out.to(x.dtype), x.narrow(-1, r, x.size(-1) - r)], -1)
