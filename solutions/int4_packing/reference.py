"""Four-bit weights, two to a byte, with a scale and a zero point for each group of a row."""

import torch
from torch import Tensor
from torch.nn.functional import pad

LARGEST_CODE = 15


def pack(codes: Tensor) -> Tensor:
    """Even index in the low nibble; a spare high nibble is 0."""
    nibbles = codes.to(torch.uint8)
    # A code that a byte does not hold comes out of the cast as another number.
    if ((nibbles != codes) | (nibbles > LARGEST_CODE)).any():
        raise ValueError("codes are whole numbers from 0 to 15")
    nibbles = pad(nibbles, (0, codes.shape[-1] % 2))
    return nibbles[..., 0::2] | (nibbles[..., 1::2] << 4)


def unpack(packed: Tensor, n: int) -> Tensor:
    """The first n codes of each row of bytes."""
    if not 0 <= n <= 2 * packed.shape[-1]:
        raise ValueError(f"{packed.shape[-1]} bytes hold {2 * packed.shape[-1]} codes, not {n}")
    return torch.stack((packed & 0x0F, packed >> 4), dim=-1).flatten(-2)[..., :n]


def quantize(w: Tensor, group_size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Asymmetric rounding to nearest, as in gemmlowp and ONNX: real = (code - zero) * scale.

    0 is taken into the range so that it has a code of its own. Codes are counted in the scale
    that is stored: a rounding of it would else be paid fifteen times at the far end of a group.
    """
    if w.dim() != 2 or group_size < 1 or w.shape[1] % group_size:
        raise ValueError(f"w is {list(w.shape)}: want rows of whole groups of {group_size}")
    if not w.isfinite().all():
        raise ValueError("w holds NaN or infinity")
    groups = w.to(torch.float32).unflatten(1, (-1, group_size))  # (O, I/g, g)
    low = groups.amin(-1).clamp(max=0)
    high = groups.amax(-1).clamp(min=0)
    limits = torch.finfo(w.dtype)
    smallest = limits.tiny * limits.eps  # a scale of 0 would divide by 0
    scales = ((high - low) / LARGEST_CODE).to(w.dtype).clamp(min=smallest)
    step = scales.to(torch.float32)
    zeros = (-low / step).round().clamp(0, LARGEST_CODE)
    codes = (groups / step[..., None]).round() + zeros[..., None]
    codes = codes.clamp(0, LARGEST_CODE)
    return pack(codes.flatten(1)), scales, zeros.to(torch.uint8)


def dequantize(packed: Tensor, scales: Tensor, zeros: Tensor, group_size: int) -> Tensor:
    """(code - zero) * scale, one rounding to the dtype of the scales."""
    if packed.dim() != 2 or scales.dim() != 2 or scales.shape != zeros.shape or group_size < 1:
        raise ValueError("want packed [O, bytes], scales and zeros [O, groups], group_size >= 1")
    columns = scales.shape[1] * group_size
    if packed.shape != (len(scales), (columns + 1) // 2):
        raise ValueError(f"packed is {list(packed.shape)}, and the scales want {columns} columns")
    codes = unpack(packed, columns).to(torch.float32).unflatten(1, (-1, group_size))
    distance = codes - zeros.to(torch.float32)[..., None]  # (O, I/g, g)
    return (distance * scales.to(torch.float32)[..., None]).flatten(1).to(scales.dtype)
