"""Grouped-query attention over a KV cache. See statement.md; fill in every method."""

from torch import Tensor, float32
from torch import dtype as Dtype


class KVCache:
    """Keys and values of one layer, for every sequence of a batch.

    k, v    Tensor[batch, num_kv_heads, max_len, head_dim] of `dtype`
    length  how many slots hold a token, the same in every row
    """

    k: Tensor
    v: Tensor
    length: int

    def __init__(
        self,
        batch: int,
        num_kv_heads: int,
        max_len: int,
        head_dim: int,
        dtype: Dtype = float32,
    ) -> None:
        raise NotImplementedError

    def update(self, k_new: Tensor, v_new: Tensor) -> tuple[Tensor, Tensor]:
        """Write T new tokens at `length`; return all that is cached, [B, Hkv, S, D] each.

        k_new, v_new  [B, Hkv, T, D]
        ValueError when the shapes do not fit the cache, or T slots are not left.
        """
        raise NotImplementedError


def attention(
    q: Tensor,
    k_new: Tensor,
    v_new: Tensor,
    cache: KVCache,
    scale: float | None = None,
) -> Tensor:
    """Add the new keys and values to the cache, then attend: [B, Hq, T, D], of q's dtype.

    q             [B, Hq, T, D], Hq a multiple of Hkv
    k_new, v_new  [B, Hkv, T, D]
    scale         what scores are multiplied by; None is D ** -0.5
    ValueError when shapes do not agree, or T slots are not left.
    """
    raise NotImplementedError
