"""The smallest step that reaches both ends of a group from a whole zero point, in float64."""

import torch
from torch import Tensor


def pack(codes: Tensor) -> Tensor:
    wide = codes.double()
    if not bool(((wide >= 0) & (wide <= 15) & (wide == wide.floor())).all()):
        raise ValueError("not four-bit codes")
    out = torch.zeros(
        (*codes.shape[:-1], (codes.shape[-1] + 1) // 2), dtype=torch.uint8, device=codes.device
    )
    even = codes[..., ::2].to(torch.uint8)
    odd = codes[..., 1::2].to(torch.uint8)
    out[..., : even.shape[-1]] += even
    out[..., : odd.shape[-1]] += odd * 16
    return out


def unpack(packed: Tensor, n: int) -> Tensor:
    if n < 0 or (n + 1) // 2 > packed.shape[-1]:
        raise ValueError(f"no {n} codes in {packed.shape[-1]} bytes")
    out = torch.empty((*packed.shape[:-1], n), dtype=torch.uint8, device=packed.device)
    out[..., ::2] = (packed % 16)[..., : (n + 1) // 2]
    out[..., 1::2] = (packed // 16)[..., : n // 2]
    return out


def quantize(w: Tensor, group_size: int):
    if w.ndim != 2:
        raise ValueError("w must be a matrix")
    if group_size <= 0 or w.shape[1] % group_size != 0:
        raise ValueError(f"groups of {group_size} in {w.shape[1]} columns")
    if torch.isnan(w).any() or torch.isinf(w).any():
        raise ValueError("w must be finite")
    rows, columns = w.shape
    groups = w.double().reshape(rows, columns // group_size, group_size)
    nothing = torch.zeros_like(groups[..., :1])
    low = torch.cat((groups, nothing), -1).min(-1, keepdim=True).values
    high = torch.cat((groups, nothing), -1).max(-1, keepdim=True).values
    zero = torch.arange(16, dtype=torch.float64, device=w.device)
    # 0 / 0 is a side that needs no step, x / 0 one that no step reaches
    below = torch.where(low < 0, -low / zero, 0.0)
    above = torch.where(high > 0, high / (15 - zero), 0.0)
    best = torch.maximum(below, above).min(-1)  # over the sixteen zero points
    scales = best.values.to(w.dtype)
    stored = scales.double()
    stored = torch.where(stored > 0, stored, 1.0)
    zeros = best.indices
    codes = torch.round(groups / stored[..., None]) + zeros[..., None]
    codes = codes.clamp(0, 15).to(torch.int32).reshape(rows, columns)
    return pack(codes), scales, zeros


def dequantize(packed: Tensor, scales: Tensor, zeros: Tensor, group_size: int) -> Tensor:
    if group_size < 1 or scales.ndim != 2 or packed.ndim != 2 or zeros.shape != scales.shape:
        raise ValueError("shapes do not agree")
    rows, groups = scales.shape
    if packed.shape[0] != rows or packed.shape[1] != -(-groups * group_size // 2):
        raise ValueError("packed does not belong to these scales")
    codes = unpack(packed, groups * group_size).long()
    zero = zeros.long().repeat_interleave(group_size, dim=1)
    scale = scales.float().repeat_interleave(group_size, dim=1)
    return ((codes - zero) * scale).to(scales.dtype)
