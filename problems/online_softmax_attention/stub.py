"""Attention one block of keys at a time. See statement.md; fill in the function."""

from torch import Tensor


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    block_size: int = 128,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Softmax attention and the log-sum-exp of each row of scores.

    q           [B, H, T, D]
    k           [B, H, S, D]
    v           [B, H, S, Dv]
    block_size  how many keys are looked at together
    causal      query i sees key j only where j <= i + S - T
    scale       what scores are multiplied by; None is D ** -0.5

    Returns the output [B, H, T, Dv], of q's dtype, and the log-sum-exp [B, H, T], float32.
    ValueError when shapes do not agree or block_size is below 1.
    """
    raise NotImplementedError
