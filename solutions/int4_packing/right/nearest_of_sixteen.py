"""Plain lists: every weight is compared with the sixteen values its group can hold."""

import math

import torch


def pack(codes):
    shape = tuple(codes.shape)
    flat = codes.reshape(-1).tolist()
    for code in flat:
        if not 0 <= code <= 15 or code != int(code):
            raise ValueError(f"{code} is not a code from 0 to 15")
    n = shape[-1]
    packed = []
    for start in range(0, len(flat), max(n, 1)):
        row = [int(code) for code in flat[start : start + n]] + [0] * (n % 2)
        packed += [row[i] + 16 * row[i + 1] for i in range(0, len(row), 2)]
    return torch.tensor(packed, dtype=torch.uint8, device=codes.device).reshape(
        *shape[:-1], (n + 1) // 2
    )


def unpack(packed, n):
    if n < 0 or n > 2 * packed.shape[-1]:
        raise ValueError(f"{n} codes are not there")
    index = torch.arange(n, device=packed.device)
    shift = (index % 2 * 4).to(torch.uint8)
    return (packed[..., index // 2] >> shift) & 15


def quantize(w, group_size):
    if w.dim() != 2 or group_size < 1 or w.shape[1] % group_size:
        raise ValueError("w does not fall into groups")
    codes, scales, zeros = [], [], []
    for row in w.tolist():
        if not all(map(math.isfinite, row)):
            raise ValueError("every weight must be finite")
        for start in range(0, len(row), group_size):
            group = row[start : start + group_size]
            low, high = min(0.0, *group), max(0.0, *group)
            step = torch.tensor((high - low) / 15, dtype=w.dtype).item()
            zero = max(range(16), key=lambda z: -abs(z * step + low))
            levels = [(code - zero) * step for code in range(16)]
            nearest = [min(range(16), key=lambda c: abs(levels[c] - x)) for x in group]
            codes += [zero if x == 0 else c for c, x in zip(nearest, group, strict=True)]
            scales.append(step)
            zeros.append(float(zero))
    shape = (w.shape[0], w.shape[1] // group_size)
    codes = torch.tensor(codes, device=w.device).reshape(w.shape)
    scales = torch.tensor(scales, dtype=w.dtype, device=w.device).reshape(shape)
    zeros = torch.tensor(zeros, dtype=w.dtype, device=w.device).reshape(shape)
    return pack(codes), scales, zeros


def dequantize(packed, scales, zeros, group_size):
    if scales.dim() != 2 or scales.shape != zeros.shape or group_size < 1:
        raise ValueError("one scale and one zero point for each group")
    columns = scales.shape[1] * group_size
    if list(packed.shape) != [scales.shape[0], (columns + 1) // 2]:
        raise ValueError("one code for each weight")
    group = torch.arange(columns, device=packed.device) // group_size
    codes = unpack(packed, columns).double()
    return ((codes - zeros.double()[:, group]) * scales.double()[:, group]).to(scales.dtype)
