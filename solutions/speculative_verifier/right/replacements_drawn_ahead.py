"""Different: races a replacement for every position ahead and picks that of the first rejection."""

from typing import NamedTuple

import torch


class Verified(NamedTuple):
    tokens: torch.Tensor
    num_accepted: torch.Tensor


@torch.no_grad()
def verify(draft_tokens, draft_probs, target_probs, generator=None):
    if draft_probs.dim() != 3:
        raise ValueError(f"draft_probs has {draft_probs.dim()} dimensions, not 3")
    B, K, V = draft_probs.shape
    for name, tensor, shape in (
        ("draft_tokens", draft_tokens, (B, K)),
        ("target_probs", target_probs, (B, K + 1, V)),
    ):
        if tensor.shape != torch.Size(shape):
            raise ValueError(f"{name} has shape {list(tensor.shape)}, not {list(shape)}")
    if ((draft_tokens < 0) | (draft_tokens >= V)).any():
        raise ValueError("draft token out of range")

    p = target_probs.to(torch.float32)
    q = torch.cat([draft_probs.to(torch.float32), p.new_zeros(B, 1, V)], dim=1)
    for probs in (p, q):
        if not torch.isfinite(probs).all() or probs.lt(0).any():
            raise ValueError("probabilities are finite and not negative")
    if (p.sum(-1) <= 0).any():
        raise ValueError("a target row without mass")

    residual = torch.relu(p - q)
    empty = residual.amax(dim=-1, keepdim=True) == 0
    weights = torch.where(empty, p, residual)
    noise = torch.rand(B, K + 1, V, generator=generator, dtype=torch.float64, device=p.device)
    race = -torch.log1p(-noise)
    winner = torch.where(weights > 0, race / weights, float("inf")).argmin(-1)  # (B, K + 1)

    x = torch.cat([draft_tokens, torch.zeros_like(winner[:, :1])], dim=1)
    p_x = p.gather(-1, x[..., None])[..., 0]
    q_x = q.gather(-1, x[..., None])[..., 0]
    threshold = torch.where(q_x == 0, 0.0, p_x / q_x)  # what the draft can't draw is refused
    rejected = torch.rand(B, K + 1, generator=generator, device=p.device) >= threshold
    rejected[:, K] = True
    first = rejected.int().argmax(dim=1, keepdim=True)  # (B, 1)

    index = torch.arange(K + 1, device=p.device).expand(B, -1)
    tokens = torch.where(index < first, x, winner)
    tokens[index > first] = -1
    return Verified(tokens, first[:, 0])
