"""Speculative decoding verifier.

The rule is that of Leviathan, Kalman and Matias, "Fast Inference from Transformers via Speculative
Decoding" (2023), and of Chen et al., "Accelerating Large Language Model Decoding with Speculative
Sampling" (2023). A token x comes out with probability

    q(x) min(1, p(x) / q(x))  +  P(rejected) max(p(x) - q(x), 0) / P(rejected)  =  p(x).
"""

import torch
from torch.nn.functional import pad


def verify(
    draft_tokens: torch.Tensor,
    draft_probs: torch.Tensor,
    target_probs: torch.Tensor,
    generator: torch.Generator | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Accept a prefix of each row of draft tokens and draw the one token that follows it."""
    _check(draft_tokens, draft_probs, target_probs)
    draft, target = draft_probs.float(), target_probs.float()
    batch, steps = draft_tokens.shape
    rows = torch.arange(batch, device=target.device)

    proposed = draft_tokens.unsqueeze(2)
    q = draft.gather(2, proposed).squeeze(2)  # (B, K)
    p = target[:, :steps].gather(2, proposed).squeeze(2)
    u = torch.rand(batch, steps, generator=generator, device=target.device)
    accepted = u * q < p  # u < p / q; strict, so that p = 0 never passes and p = q always does
    num_accepted = accepted.long().cumprod(1).sum(1)  # a match after a rejection counts for nothing

    draft = pad(draft, (0, 0, 0, 1))  # no draft row at K: the residual there is the target row
    wanted = target[rows, num_accepted]  # (B, V)
    residual = (wanted - draft[rows, num_accepted]).clamp(min=0)
    has_mass = residual.sum(1, keepdim=True) > 0
    last = torch.multinomial(torch.where(has_mass, residual, wanted), 1, generator=generator)

    kept = torch.arange(steps + 1, device=target.device) < num_accepted[:, None]
    tokens = pad(draft_tokens, (0, 1)).where(kept, -1)
    return tokens.scatter(1, num_accepted[:, None], last), num_accepted


def _check(draft_tokens: torch.Tensor, draft: torch.Tensor, target: torch.Tensor) -> None:
    if draft_tokens.ndim != 2 or draft.ndim != 3:
        raise ValueError(f"draft tokens of shape {tuple(draft_tokens.shape)}; want [B, K]")
    batch, steps, vocab = draft.shape
    if draft_tokens.shape != (batch, steps) or target.shape != (batch, steps + 1, vocab):
        shapes = [tuple(t.shape) for t in (draft_tokens, draft, target)]
        raise ValueError(f"shapes {shapes} do not agree; want [B, K], [B, K, V], [B, K + 1, V]")
    for probs in (draft, target):
        if not (probs.isfinite() & (probs >= 0)).all():
            raise ValueError("a probability is NaN, infinite or negative")
    if not (target > 0).any(2).all():
        raise ValueError("a target row has no mass")
    if not ((draft_tokens >= 0) & (draft_tokens < vocab)).all():
        raise ValueError(f"a draft token is outside [0, {vocab})")
