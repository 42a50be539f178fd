"""Tensors of simple numbers that shrink, and the comparison of a tensor with a float64 answer.

Imported by suites of torch problems only.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from harness.suite.calls import Broke
from harness.suite.script import show


def _simplicity(number: float) -> tuple[int, float, bool]:
    return number.as_integer_ratio()[1], abs(number), number < 0


# Every multiple of 1/32 from -4 to below 4, the simplest first: 0, 1, -1, 2, -2 ... Exact in every
# float type down to bfloat16.
GRID = torch.tensor(sorted((i / 32 for i in range(-128, 128)), key=_simplicity))


def grids(*shape: int, dtype: torch.dtype = torch.float32) -> st.SearchStrategy[Tensor]:
    """Tensors of numbers of the grid, which shrink one by one towards 0, 1, -1, 2 ..."""
    count = math.prod(shape)
    return st.binary(min_size=count, max_size=count).map(
        lambda raw: GRID[list(raw)].to(dtype).reshape(shape)
    )


def made_by(source: str) -> Tensor:
    """A tensor from a torch expression, which stands in scripts in place of its values."""
    tensor: Tensor = eval(source, {"torch": torch})
    tensor.source = source  # type: ignore[attr-defined]
    return tensor


def spacing(wanted: Tensor, dtype: torch.dtype) -> Tensor:
    """The widest gap between neighbours of a dtype near each value: twice what rounding may add."""
    facts = torch.finfo(dtype)
    return (wanted.abs() * facts.eps).clamp_min(facts.smallest_normal * facts.eps)


def tensor(value: Any, *, shape: Any, dtype: torch.dtype, what: str, at: Any) -> Tensor:
    """Break unless an answer is a tensor of this shape and dtype."""
    shape, name = list(shape), f"{what} of shape {list(shape)}, {dtype}"
    if not isinstance(value, Tensor):
        raise Broke(name, show(value), at=at)
    if list(value.shape) != shape or value.dtype != dtype:
        raise Broke(name, f"shape {list(value.shape)}, {value.dtype}", at=at)
    return value


def close(got: Tensor, wanted: Tensor, allowed: Tensor, *, what: str = "", at: Any) -> None:
    """Break unless every element is within `allowed` of `wanted`, the worst one named.

    NaN equals NaN and an infinity its own kind only, whatever is allowed.
    """
    got = got.double()
    ratio = ((got - wanted).abs() / allowed).masked_fill(got == wanted, 0.0)
    ratio = ratio.masked_fill(got.isnan() & wanted.isnan(), 0.0).nan_to_num(nan=math.inf)
    ratio = ratio.masked_fill(got.isinf() & (got != wanted), math.inf)
    wrong = int((ratio > 1).sum())
    if not wrong:
        return
    worst = tuple(int(i) for i in torch.unravel_index(ratio.argmax(), ratio.shape))
    named = f"{what}: " if what else ""
    place = f" at {worst}" if worst else ""
    raise Broke(
        f"{named}{_number(wanted[worst])}{place}, within {float(allowed[worst]):.2g}",
        f"{_number(got[worst])}; {wrong} of {got.numel()} values differ, this one the most",
        at=at,
    )


def _number(value: Tensor) -> str:
    return f"{float(value):.7g}"


def identical(one: Tensor, other: Tensor) -> bool:
    """Equal in dtype, shape and every value, NaN equal to itself."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return bool(((one == other) | (one.isnan() & other.isnan())).all())
