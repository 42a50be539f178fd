"""Different: one float64 uniform a position decides, and what is left of it draws the residual."""

import torch


def verify(draft_tokens, draft_probs, target_probs, generator=None):
    batch, steps = _sizes(draft_tokens, draft_probs, target_probs)
    q, p = _normalised(draft_probs), _normalised(target_probs)
    u = torch.rand(batch, steps + 1, generator=generator, dtype=torch.float64, device=p.device)

    tokens = torch.full((batch, steps + 1), -1, dtype=torch.int32, device=p.device)
    alive = torch.ones(batch, dtype=torch.bool, device=p.device)
    for i in range(steps):
        at = draft_tokens[:, i : i + 1]
        p_x, q_x = p[:, i].gather(1, at)[:, 0], q[:, i].gather(1, at)[:, 0]
        ratio = torch.where(q_x > 0, p_x / q_x, (p_x > 0).double()).clamp(max=1)
        accepts = u[:, i] < ratio
        left = ((u[:, i] - ratio) / (1 - ratio)).nan_to_num(0, 0, 0).clamp(0, 1)
        residual = (p[:, i] - q[:, i]).clamp(min=0)
        residual = torch.where(residual.sum(1, keepdim=True) > 0, residual, p[:, i])
        now = torch.where(accepts, at[:, 0], _inverse_cdf(residual, left))
        tokens[:, i] = torch.where(alive, now, -1).int()
        alive = alive & accepts
    tokens[:, steps] = torch.where(alive, _inverse_cdf(p[:, steps], u[:, steps]), -1).int()
    return tokens, (tokens >= 0).sum(1) - 1


def _inverse_cdf(weights, u):
    """The first index whose running sum is above u of the total: never one of weight zero."""
    cdf = weights.cumsum(1)
    found = torch.searchsorted(cdf, (u * cdf[:, -1]).unsqueeze(1), right=True).squeeze(1)
    highest = (cdf < cdf[:, -1:]).sum(1)  # the last index that adds mass
    return torch.minimum(found, highest)


def _normalised(probs):
    probs = probs.double()
    total = probs.sum(-1, keepdim=True)
    return torch.where(total > 0, probs / total, probs)


def _sizes(draft_tokens, draft_probs, target_probs):
    if draft_tokens.dim() != 2 or draft_probs.dim() != 3 or target_probs.dim() != 3:
        raise ValueError("want tokens [B, K] and probabilities [B, K, V], [B, K + 1, V]")
    batch, steps, vocab = draft_probs.shape
    if tuple(draft_tokens.shape) != (batch, steps):
        raise ValueError("one draft token per draft row")
    if tuple(target_probs.shape) != (batch, steps + 1, vocab):
        raise ValueError("one target row more than draft rows")
    for probs in (draft_probs, target_probs):
        if probs.isnan().any() or probs.isinf().any() or (probs < 0).any():
            raise ValueError("not probabilities")
    if (target_probs.amax(-1) == 0).any():
        raise ValueError("a target row of zeros")
    if draft_tokens.numel() and not 0 <= int(draft_tokens.min()) <= int(draft_tokens.max()) < vocab:
        raise ValueError("a draft token outside the vocabulary")
    return batch, steps
