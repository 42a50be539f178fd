"""Top-p sampling: temperature, then the nucleus of Holtzman et al., "The Curious Case of Neural
Text Degeneration" (2020), with the cut between values and never between equal tokens."""

import math

import torch


def top_p_filter(logits: torch.Tensor, p: float | torch.Tensor) -> torch.Tensor:
    """Keep each token whose strictly more probable tokens hold a mass below p; renormalise."""
    p = _check(logits, p)
    return _nucleus(_below_maximum(logits), p)


def sample(
    logits: torch.Tensor,
    *,
    p: float | torch.Tensor = 1.0,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Draw one token a row from the filtered probabilities at this temperature."""
    p = _check(logits, p)
    if not temperature >= 0:  # NaN too
        raise ValueError(f"temperature {temperature} is below 0 or NaN")
    if temperature == 0:
        return logits.argmax(1)
    probs = _nucleus(_below_maximum(logits) / temperature, p)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)


def _below_maximum(logits: torch.Tensor) -> torch.Tensor:
    """Logits less their row's largest: no temperature can overflow the largest any more."""
    logits = logits.double()
    return logits - logits.amax(1, keepdim=True)


def _nucleus(logits: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    probs = logits.softmax(1)  # float64: an fp32 running sum is off by 1e-4 over a long tail
    falling = probs.sort(1, descending=True).values
    before = falling.cumsum(1) - falling  # mass above, at the first of each run of equal tokens
    kept = (before < p) | (p == 1)  # at p = 1 rounding must not cost the tail
    least = falling.where(kept, math.inf).amin(1, keepdim=True)
    probs = probs.where(probs >= least, 0.0)
    return (probs / probs.sum(1, keepdim=True)).float()


def _check(logits: torch.Tensor, p: float | torch.Tensor) -> torch.Tensor:
    """Refuse bad arguments; return p as a float64 column."""
    if logits.ndim != 2:
        raise ValueError(f"logits of shape {tuple(logits.shape)}; want [B, V]")
    if isinstance(p, torch.Tensor) and p.shape != logits.shape[:1]:
        raise ValueError(f"p of shape {tuple(p.shape)}; want [{logits.shape[0]}]")
    if not (logits < math.inf).all() or (logits == -math.inf).all(1).any():
        raise ValueError("a row of logits holds NaN or +inf, or is -inf throughout")
    p = torch.as_tensor(p, dtype=torch.float64, device=logits.device).reshape(-1, 1)
    if not ((p > 0) & (p <= 1)).all():
        raise ValueError("p is outside (0, 1]")
    return p
