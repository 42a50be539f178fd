"""Different: short rows compare all pairs, long ones go by distinct logits; inverse CDF draws."""

import torch


def top_p_filter(logits, p):
    return _filter(*_arguments(logits, p)).float()


def sample(logits, *, p=1.0, temperature=1.0, generator=None):
    logits, p = _arguments(logits, p)
    if not temperature >= 0:
        raise ValueError(f"temperature {temperature}")
    if temperature == 0:
        return logits.max(dim=1).indices if logits.shape[0] else torch.zeros(0, dtype=torch.long)
    probs = _filter((logits - logits.amax(1, keepdim=True)).div(temperature), p)
    cdf = probs.cumsum(1)
    shape = logits.shape[0], 1
    u = torch.rand(shape, generator=generator, dtype=torch.float64, device=cdf.device)
    return (cdf <= u * cdf[:, -1:]).sum(1)


def _filter(logits, p):
    if logits.shape[1] <= 64:
        return _by_pairs(logits, p)
    return torch.stack([_by_distinct_logits(row, q) for row, q in zip(logits, p, strict=True)])


def _by_pairs(logits, p):
    probs = torch.softmax(logits, 1)
    greater = logits[:, None, :] > logits[:, :, None]  # (B, V, V): is the last more probable
    above = (greater * probs[:, None, :]).sum(2)
    kept = (above < p[:, None]) | (p[:, None] == 1)
    probs = torch.where(kept, probs, 0.0)
    return probs / probs.sum(1, keepdim=True)


def _by_distinct_logits(logits, p):
    values, group, count = torch.unique(logits, return_inverse=True, return_counts=True)
    weight = (values - values[-1]).exp()  # ascending, one a distinct logit
    weight = weight / (weight * count).sum()
    mass = weight * count
    above = mass.flip(0).cumsum(0).flip(0) - mass
    kept = (above < p) if p < 1 else torch.ones_like(above, dtype=torch.bool)
    kept[-1] = True
    weight = torch.where(kept, weight, 0.0)
    return (weight / (weight * count).sum())[group]


def _arguments(logits, p):
    if logits.ndim != 2:
        raise ValueError(f"logits have {logits.ndim} dimensions")
    rows = logits.shape[0]
    if torch.is_tensor(p):
        if tuple(p.shape) != (rows,):
            raise ValueError("one p a row")
    else:
        p = torch.full((rows,), p, dtype=torch.float64, device=logits.device)
    p = p.to(torch.float64)
    if not bool(((p > 0) & (p <= 1)).all()):
        raise ValueError("p outside (0, 1]")
    logits = logits.to(torch.float64)
    largest = logits.amax(1)
    if not bool(largest.isfinite().all()) or bool(logits.isnan().any()):
        raise ValueError("logits")
    return logits, p
