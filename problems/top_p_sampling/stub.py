"""Top-p sampling: see statement.md."""

import torch


def top_p_filter(logits: torch.Tensor, p: float | torch.Tensor) -> torch.Tensor:
    """Return the renormalised probabilities of the tokens that top-p keeps.

    logits [B, V] in fp32, fp16 or bf16; p a float in (0, 1] or a float tensor [B]. Returns [B, V]
    in fp32, exactly 0 where a token is dropped. ValueError for bad logits, p or shapes.
    """
    raise NotImplementedError


def sample(
    logits: torch.Tensor,
    *,
    p: float | torch.Tensor = 1.0,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Draw one token a row: temperature first, then top-p, then an independent draw.

    Returns [B] token indices. Temperature 0 is the first of the largest logits. ValueError as in
    top_p_filter, and for a negative or NaN temperature.
    """
    raise NotImplementedError
