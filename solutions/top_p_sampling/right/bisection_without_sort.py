"""Different: no sort; bisects fp32 bit patterns for the least logit kept; draws by Gumbel noise."""

import torch


def _ordered(x):
    """fp32 values as int64 keys in the same order."""
    bits = x.contiguous().view(torch.int32).long()
    return torch.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def _validated(logits, p):
    if logits.dim() != 2:
        raise ValueError("logits must be [B, V]")
    B = logits.shape[0]
    if isinstance(p, torch.Tensor):
        if p.dim() != 1 or p.shape[0] != B:
            raise ValueError("p must be a float or [B]")
        p = p.double()
    else:
        p = torch.full((B,), float(p), dtype=torch.float64, device=logits.device)
    if torch.isnan(p).any() or (p <= 0).any() or (p > 1).any():
        raise ValueError("p must lie in (0, 1]")
    x = logits.float()
    if torch.isnan(x).any() or torch.isposinf(x).any() or torch.isneginf(x).all(dim=1).any():
        raise ValueError("bad logits")
    return x, p


def _filtered(x, p):
    if x.shape[0] == 0:
        return torch.zeros_like(x)
    probs = torch.softmax(x, dim=1)
    key = _ordered(x)
    low, high = key.amin(1) - 1, key.amax(1)  # mass above `high` is 0 < p; `low` may be too low
    exact = probs.double()
    while (high - low > 1).any():
        middle = (low + high) // 2
        mass_above = (exact * (key > middle[:, None])).sum(1)
        enough = (mass_above < p) | (p == 1)
        high = torch.where(enough, middle, high)
        low = torch.where(enough, low, middle)
    # a key that no token has may be kept too: whatever lies at or above `high` is kept
    probs = torch.where((key >= high[:, None]) & (x > -torch.inf), probs, 0.0)
    return probs / probs.sum(1, keepdim=True)


def top_p_filter(logits, p):
    return _filtered(*_validated(logits, p))


def sample(logits, *, p=1.0, temperature=1.0, generator=None):
    x, p = _validated(logits, p)
    if temperature != temperature or temperature < 0:
        raise ValueError("temperature")
    if temperature == 0:
        best = x == x.max(dim=1, keepdim=True).values
        return best.int().argmax(dim=1)
    x = (x - x.max(dim=1, keepdim=True).values) / temperature
    probs = _filtered(x, p)
    noise = torch.rand(probs.shape, generator=generator, dtype=torch.float64, device=probs.device)
    gumbel = -torch.log(-torch.log(noise))
    return (probs.double().log() + gumbel).argmax(dim=1).int()
