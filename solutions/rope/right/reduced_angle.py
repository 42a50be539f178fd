"""Angles are brought into one turn in float64, and sine and cosine are taken in fp32."""

import math

import torch


def rope_frequencies(head_dim, theta=10000.0):
    if head_dim < 0 or head_dim % 2:
        raise ValueError(f"odd head_dim {head_dim}")
    i = torch.arange(head_dim // 2, dtype=torch.float64)
    return torch.exp(i * (-2 * math.log(theta) / max(head_dim, 1)))


def apply_rope(x, positions, *, theta=10000.0, interleaved=False, rotary_dim=None):
    if x.dim() != 4:
        raise ValueError("x: [B, H, T, D]")
    B, H, T, D = x.shape
    r = rotary_dim if rotary_dim is not None else D
    if r > D:
        raise ValueError("rotary_dim above D")
    if positions.dim() == 1 and len(positions) == T:
        where = positions[None, :, None]
    elif positions.dim() == 2 and positions.shape == (B, T):
        where = positions[:, :, None]
    else:
        raise ValueError("positions: [T] or [B, T]")
    angle = where.double() * rope_frequencies(r, theta).to(x.device)  # (B or 1, T, r/2)
    if x.dtype != torch.float64:
        angle = torch.remainder(angle + math.pi, 2 * math.pi).sub(math.pi).float()
    # (B or 1, T, r/2, 2, 2), the rotation matrix of each pair
    c, s = torch.cos(angle), torch.sin(angle)
    matrix = torch.stack((torch.stack((c, -s), -1), torch.stack((s, c), -1)), -2)
    shape = (r // 2, 2) if interleaved else (2, r // 2)
    pairs = x[..., :r].to(angle.dtype).reshape(B, H, T, *shape)
    if not interleaved:
        pairs = pairs.transpose(-1, -2)
    turned = (matrix.unsqueeze(1) * pairs.unsqueeze(-2)).sum(-1)
    if not interleaved:
        turned = turned.transpose(-1, -2)
    return torch.cat((turned.reshape(B, H, T, r).to(x.dtype), x[..., r:]), -1)
