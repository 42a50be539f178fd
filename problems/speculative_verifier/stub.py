"""Speculative decoding verifier: see statement.md."""

import torch


def verify(
    draft_tokens: torch.Tensor,
    draft_probs: torch.Tensor,
    target_probs: torch.Tensor,
    generator: torch.Generator | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Decide which draft tokens stand, and draw the one token that follows them.

    draft_tokens [B, K] int64; draft_probs [B, K, V] and target_probs [B, K + 1, V] in fp32, fp16
    or bf16. Returns tokens [B, K + 1] (the accepted draft tokens, one token more, then -1) and
    num_accepted [B], both integer. ValueError for bad probabilities, tokens or shapes.
    """
    raise NotImplementedError
