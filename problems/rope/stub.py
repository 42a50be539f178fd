from torch import Tensor


def rope_frequencies(head_dim: int, theta: float = 10000.0) -> Tensor:
    """The angle that each pair of channels turns by from one position to the next.

    Returns [head_dim / 2], fp32 or fp64. An odd or negative head_dim raises ValueError.
    """
    raise NotImplementedError


def apply_rope(
    x: Tensor,
    positions: Tensor,
    *,
    theta: float = 10000.0,
    interleaved: bool = False,
    rotary_dim: int | None = None,
) -> Tensor:
    """The channels of x, turned in pairs by the positions.

    x is [B, H, T, D] in fp16, bf16, fp32 or fp64; positions is [T] or [B, T], of any integer dtype.
    Returns [B, H, T, D] with the dtype and device of x. Shapes that do not agree, an odd D and a
    rotary_dim that is odd, negative or above D raise ValueError.
    """
    raise NotImplementedError
