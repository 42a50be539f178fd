"""Different: a row at a time, one entry for each distinct logit; sample draws by inverse CDF."""

import torch


def top_p_filter(logits, p):
    logits, p = _arguments(logits, p)
    out = torch.zeros(logits.shape, dtype=torch.float32)
    for b in range(logits.shape[0]):
        out[b] = _row(logits[b], float(p[b]))
    return out


def sample(logits, *, p=1.0, temperature=1.0, generator=None):
    logits, p = _arguments(logits, p)
    if not temperature >= 0:
        raise ValueError(f"temperature {temperature}")
    if temperature == 0:
        return logits.max(dim=1).indices if logits.shape[0] else torch.zeros(0, dtype=torch.long)
    cooled = (logits - logits.amax(1, keepdim=True)).div(temperature)
    # equal rows share their filter: a batch is often one prompt many times
    rows, which = torch.unique(torch.cat([cooled, p[:, None]], 1), dim=0, return_inverse=True)
    probs = torch.zeros(rows.shape[0], logits.shape[1], dtype=torch.float64)
    for r in range(rows.shape[0]):
        probs[r] = _row(rows[r, :-1], float(rows[r, -1])).double()
    cdf = probs.cumsum(1)[which]
    u = torch.rand(logits.shape[0], 1, generator=generator, dtype=torch.float64) * cdf[:, -1:]
    return (cdf <= u).sum(1)


def _row(logits, p):
    values, group, count = torch.unique(logits, return_inverse=True, return_counts=True)
    weight = (values - values[-1]).exp()  # ascending, one a distinct logit
    weight = weight / (weight * count).sum()
    mass = weight * count
    above = mass.flip(0).cumsum(0).flip(0) - mass
    kept = (above < p) if p < 1 else torch.ones_like(above, dtype=torch.bool)
    kept[-1] = True
    weight = torch.where(kept, weight, 0.0)
    return (weight / (weight * count).sum())[group].float()


def _arguments(logits, p):
    if logits.ndim != 2:
        raise ValueError(f"logits have {logits.ndim} dimensions")
    rows = logits.shape[0]
    if torch.is_tensor(p):
        if tuple(p.shape) != (rows,):
            raise ValueError("one p a row")
    else:
        p = torch.tensor([p] * rows, dtype=torch.float64)
        if not rows:
            p = p.reshape(0)
    p = p.to(torch.float64)
    if not bool(((p > 0) & (p <= 1)).all()):
        raise ValueError("p outside (0, 1]")
    logits = logits.to(torch.float64)
    largest = logits.amax(1)
    if not bool(largest.isfinite().all()) or bool(logits.isnan().any()):
        raise ValueError("logits")
    return logits, p
