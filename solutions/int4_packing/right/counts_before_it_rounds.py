"""The textbook way: codes are counted in the unrounded fp32 step and the scale is rounded after."""

import torch
from torch import Tensor


def pack(codes: Tensor) -> Tensor:
    valid = torch.isin(codes.double(), torch.arange(16, dtype=torch.float64, device=codes.device))
    if not valid.all():
        raise ValueError("codes must be whole and within 0..15")
    codes = codes.to(torch.int32)
    if codes.shape[-1] % 2:
        codes = torch.cat((codes, torch.zeros_like(codes[..., :1])), dim=-1)
    return torch.bitwise_or(codes[..., ::2], codes[..., 1::2] * 16).to(torch.uint8)


def unpack(packed: Tensor, n: int) -> Tensor:
    room = packed.shape[-1] * 2
    if n < 0 or n > room:
        raise ValueError(f"n = {n} and room for {room}")
    out = packed.repeat_interleave(2, dim=-1)
    out[..., 1::2] >>= 4
    out &= 15
    return out[..., :n].contiguous()


def quantize(w: Tensor, group_size: int):
    if w.dim() != 2:
        raise ValueError("w must be [O, I]")
    rows, columns = w.shape
    if group_size < 1 or columns % group_size != 0:
        raise ValueError("group_size must divide the columns")
    if not torch.isfinite(w).all():
        raise ValueError("w must be finite")
    g = w.reshape(-1, group_size).float()
    low = torch.clamp(g.min(dim=1, keepdim=True)[0], max=0.0)
    high = torch.clamp(g.max(dim=1, keepdim=True)[0], min=0.0)
    step = (high - low) / 15.0
    step[step == 0] = 1.0
    zeros = torch.clamp(torch.round(-low / step), 0, 15)
    codes = torch.clamp(torch.round(g / step + zeros), 0, 15)
    packed = pack(codes.to(torch.uint8).reshape(rows, columns))
    return packed, step.to(w.dtype).reshape(rows, -1), zeros.to(torch.int32).reshape(rows, -1)


def dequantize(packed: Tensor, scales: Tensor, zeros: Tensor, group_size: int) -> Tensor:
    if scales.dim() != 2 or scales.shape != zeros.shape or packed.dim() != 2 or group_size < 1:
        raise ValueError("shapes")
    rows, groups = scales.shape
    if packed.shape != (rows, (groups * group_size + 1) // 2):
        raise ValueError("shapes")
    codes = unpack(packed, groups * group_size).reshape(rows, groups, group_size)
    out = scales.float().unsqueeze(-1) * (codes.float() - zeros.float().unsqueeze(-1))
    return out.reshape(rows, -1).to(scales.dtype)
