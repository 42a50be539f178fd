from torch import Tensor


def pack(codes: Tensor) -> Tensor:
    """Two codes to a byte, the even index in the low four bits.

    codes is [..., N], whole numbers 0..15 in any integer or floating dtype; returns uint8
    [..., ceil(N / 2)], a spare half byte 0. Any other code raises ValueError.
    """
    raise NotImplementedError


def unpack(packed: Tensor, n: int) -> Tensor:
    """The first n codes of each row of bytes, uint8 [..., n].

    A negative n, or one that the bytes do not hold, raises ValueError.
    """
    raise NotImplementedError


def quantize(w: Tensor, group_size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Codes 0..15 with a scale and a zero point for each group_size neighbours of a row.

    w is [O, I] in fp32, fp16 or bf16. Returns packed, uint8 [O, ceil(I / 2)]; scales,
    [O, I / group_size] in the dtype of w; zeros, of that shape, whole numbers 0..15 in any dtype.
    NaN, infinity and a group_size that does not divide I raise ValueError.
    """
    raise NotImplementedError


def dequantize(packed: Tensor, scales: Tensor, zeros: Tensor, group_size: int) -> Tensor:
    """(code - zero) * scale, [O, I] in the dtype of scales.

    zeros may have any integer or floating dtype. Shapes that do not agree raise ValueError.
    """
    raise NotImplementedError
