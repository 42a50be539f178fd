"""Scales go up to the next number that their dtype holds, so that no end is out of reach."""

import torch

DIGITS = {torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}


def pack(codes):
    if codes.numel() and (codes.amin() < 0 or codes.amax() > 15 or (codes != codes.long()).any()):
        raise ValueError("a code is out of range or not whole")
    if codes.is_floating_point() and codes.isnan().any():
        raise ValueError("a code is NaN")
    pairs = torch.nn.functional.pad(codes.long(), (0, codes.shape[-1] & 1)).unflatten(-1, (-1, 2))
    weights = torch.tensor([1, 16], device=codes.device)
    return (pairs * weights).sum(-1).to(torch.uint8)


def unpack(packed, n):
    if not 0 <= n <= packed.shape[-1] * 2:
        raise ValueError("n")
    table = torch.arange(256, dtype=torch.uint8, device=packed.device)
    table = torch.stack((table % 16, table // 16), -1)
    return table[packed.long()].flatten(-2).narrow(-1, 0, n)


def _up(step, dtype):
    """The next number at or above step that dtype holds."""
    exponent = torch.frexp(step).exponent
    least = torch.finfo(dtype).tiny * torch.finfo(dtype).eps
    spacing = torch.ldexp(torch.ones_like(step), exponent - DIGITS[dtype]).clamp(min=least)
    return (torch.ceil(step / spacing) * spacing).to(dtype)


def quantize(w, group_size):
    if w.dim() != 2 or group_size < 1 or w.size(1) % group_size != 0:
        raise ValueError("w, group_size")
    if not bool(torch.isfinite(w).all()):
        raise ValueError("not finite")
    groups = torch.stack(w.double().split(group_size, dim=1), 1)
    low, high = groups.amin(-1), groups.amax(-1)
    low, high = torch.minimum(low, low * 0), torch.maximum(high, high * 0)
    step = (high - low) / 15
    scales = _up(step, w.dtype)
    counted = torch.where(step > 0, scales.double(), 1.0)
    zeros = torch.floor(-low / counted + 0.5)
    codes = (torch.floor(groups / counted[..., None] + 0.5) + zeros[..., None]).clamp(0, 15)
    return pack(codes.reshape(w.shape)), scales, zeros.to(torch.int8)


def dequantize(packed, scales, zeros, group_size):
    if group_size < 1 or not scales.dim() == zeros.dim() == packed.dim() == 2:
        raise ValueError("matrices wanted")
    if scales.shape != zeros.shape or scales.size(0) != packed.size(0):
        raise ValueError("rows or groups differ")
    n = scales.size(1) * group_size
    if (n + 1) // 2 != packed.size(1):
        raise ValueError("bytes and groups differ")
    out = []
    for i, part in enumerate(unpack(packed, n).int().split(group_size, dim=1)):
        offset = part - zeros[:, i : i + 1].int()
        out.append((offset.float() * scales[:, i : i + 1].float()).to(scales.dtype))
    return torch.cat(out, dim=1)
