"""Rotary position embedding in both channel conventions, exact at large positions."""

import torch
from torch import Tensor


def rope_frequencies(head_dim: int, theta: float = 10000.0) -> Tensor:
    """theta ** (-2 i / head_dim), RoFormer's equation 15 (arXiv 2104.09864), in float64."""
    if head_dim < 0 or head_dim % 2:
        raise ValueError(f"channels turn in pairs: head_dim is {head_dim}, want an even number")
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim
    return theta**-exponents  # (head_dim / 2,)


def apply_rope(
    x: Tensor,
    positions: Tensor,
    *,
    theta: float = 10000.0,
    interleaved: bool = False,
    rotary_dim: int | None = None,
) -> Tensor:
    """Turn pair i at position m by m * theta ** (-2 i / r), RoFormer's equation 34.

    A float32 angle is off by 0.06 at position one million, so angles stay in float64 and only
    their sine and cosine come down to the dtype of the multiplication.
    """
    if x.dim() != 4:
        raise ValueError(f"x has {x.dim()} dimensions, want [B, H, T, D]")
    batch, _, tokens, head_dim = x.shape
    if positions.shape not in ((tokens,), (batch, tokens)):
        raise ValueError(f"positions are {list(positions.shape)}, want [{tokens}], or one row each")
    turning = head_dim if rotary_dim is None else rotary_dim
    if turning > head_dim:
        raise ValueError(f"rotary_dim is {turning}, and x has {head_dim} channels")

    frequencies = rope_frequencies(turning, theta).to(x.device)
    angles = positions.to(torch.float64)[..., None] * frequencies  # (T, r/2) or (B, T, r/2)
    angles = angles.unsqueeze(-3)  # one for all heads
    working = torch.promote_types(x.dtype, torch.float32)
    cos, sin = angles.cos().to(working), angles.sin().to(working)

    first, second = _pairs(x[..., :turning].to(working), interleaved)
    turned = (first * cos - second * sin, second * cos + first * sin)
    joined = torch.stack(turned, -1).flatten(-2) if interleaved else torch.cat(turned, -1)
    return torch.cat((joined.to(x.dtype), x[..., turning:]), dim=-1)


def _pairs(channels: Tensor, interleaved: bool) -> tuple[Tensor, Tensor]:
    if interleaved:
        return channels[..., 0::2], channels[..., 1::2]
    first, second = channels.chunk(2, dim=-1)
    return first, second
