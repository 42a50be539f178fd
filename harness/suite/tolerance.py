"""Comparing tensors with a float64 answer: what rounding may add, and the worst value named.

How much is allowed follows from the dtype: `ulp` is the gap between its neighbours at each value,
half of which is one rounding. A suite adds up the roundings that an honest answer makes. Imported
by suites of torch problems only.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from harness.suite.calls import Broke
from harness.suite.pictures import errors
from harness.suite.script import show


def ulp(values: Tensor, dtype: torch.dtype) -> Tensor:
    """The gap between neighbours of a dtype at each of these float64 values, in float64."""
    facts = torch.finfo(dtype)
    binade = torch.frexp(values.double().abs().clamp(facts.tiny, facts.max)).exponent - 1
    return torch.ldexp(torch.full_like(values, facts.eps, dtype=torch.float64), binade)


def tensor(value: Any, *, shape: Any, dtype: torch.dtype, what: str, at: Any) -> Tensor:
    """Break unless an answer is a tensor of this shape and dtype."""
    wanted = f"{what} of shape {list(shape)}, {dtype}"
    if not isinstance(value, Tensor):
        raise Broke(wanted, show(value), at=at)
    if list(value.shape) != list(shape) or value.dtype != dtype:
        raise Broke(wanted, f"shape {list(value.shape)}, {value.dtype}", at=at)
    return value


def close(
    got: Tensor, wanted: Tensor, allowed: Tensor | float, *, what: str = "", at: Any, also: Any = ()
) -> None:
    """Break unless every value is within `allowed` of `wanted`: how many are not, and the worst.

    NaN equals NaN and an infinity its own kind only, whatever is allowed.
    """
    got, wanted = got.double(), wanted.double()
    allowed = torch.as_tensor(allowed, dtype=torch.float64).expand(wanted.shape)
    off = _times_allowed(got, wanted, allowed)
    wrong = int((off > 1).sum())
    if not wrong:
        return
    worst = tuple(int(i) for i in torch.unravel_index(off.argmax(), off.shape))
    its = f"wanted {_number(wanted[worst])}, got {_number(got[worst])}"
    raise Broke(
        what or "every value as exact as the dtype allows",
        f"{wrong} of {got.numel()} values differ; worst at {worst}: {its}, "
        f"allowed {float(allowed[worst]):.1g}",
        at=at,
        also=also,
        picture=_picture((got - wanted).abs().masked_fill(off == 0, 0.0), allowed, off),
    )


def identical(one: Tensor, other: Tensor) -> bool:
    """Equal in dtype, shape and every value, NaN equal to itself."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return bool(((one == other) | (one.isnan() & other.isnan())).all())


def same_bits(one: Tensor, other: Tensor) -> Tensor:
    """Where two tensors of one dtype hold the same bits; any two NaN count as the same."""
    size = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[one.element_size()]
    bits = one.contiguous().view(size) == other.contiguous().view(size)
    return bits | (one.isnan() & other.isnan())


def _times_allowed(got: Tensor, wanted: Tensor, allowed: Tensor) -> Tensor:
    off = (got - wanted).abs() / allowed
    off = off.nan_to_num(nan=math.inf)  # 0 / 0 is an exact answer, caught below
    same = (got == wanted) | (got.isnan() & wanted.isnan())
    infinite = got.isinf() | wanted.isinf()
    return off.masked_fill(infinite, math.inf).masked_fill(same, 0.0)


def _number(value: Tensor) -> str:
    return f"{float(value):.7g}"


def _picture(error: Tensor, allowed: Tensor, off: Tensor) -> dict[str, Any] | None:
    """The worst error at each position of the dimension that tells most where the fault is.

    That is the one of which the smallest part is wrong: one token of many, one channel of many.
    """
    many = [dim for dim in range(off.ndim) if off.shape[dim] > 1]
    if not many or not bool(allowed.isfinite().all()):
        return None

    def part_wrong(dim: int) -> float:
        return float((_along(off, dim).amax(1) > 1).double().mean())

    dim = min(many, key=lambda dim: (part_wrong(dim), -off.shape[dim]))
    worst = _along(off, dim).argmax(1, keepdim=True)
    values, limits = (_along(t, dim).gather(1, worst).flatten().tolist() for t in (error, allowed))
    return errors(values, limits, along=f"index in dimension {dim} of {list(off.shape)}")


def _along(values: Tensor, dim: int) -> Tensor:
    """One row a position of this dimension."""
    return values.movedim(dim, 0).reshape(values.shape[dim], -1)
