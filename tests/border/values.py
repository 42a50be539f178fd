"""Values that may cross the border, and whether two of them are the same in every type."""

from __future__ import annotations

import math
from typing import Any

import torch
from hypothesis import strategies as st

from harness.border.tensors import DTYPES
from harness.border.values import DType

integers = st.integers() | st.integers(-(2**70), 2**70) | st.integers(-(2**4000), 2**4000)
scalars = (
    st.none()
    | st.booleans()
    | integers
    | st.floats()
    | st.text(max_size=8)
    | st.binary(max_size=8)
    | st.sampled_from(["float16", "int64"]).map(DType)
)
hashables = st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.binary(max_size=4)
containers = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(hashables, inner, max_size=4)
        | st.frozensets(hashables, max_size=4)
    ),
    max_leaves=24,
)


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    """Tensors of every dtype that crosses, often a view of something larger in an odd order."""
    dtype = getattr(torch, draw(st.sampled_from(sorted(DTYPES))))
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    raw = draw(st.binary(min_size=math.prod(shape), max_size=math.prod(shape)))
    tensor = torch.tensor(list(raw), dtype=torch.uint8).reshape(shape).to(dtype)
    for change in draw(st.lists(st.sampled_from(sorted(CHANGES)), max_size=3)):
        tensor = CHANGES[change](tensor)
    return tensor


CHANGES: dict[str, Any] = {
    "transposed": lambda t: t.permute(tuple(reversed(range(t.dim())))),
    "every second": lambda t: t[::2] if t.dim() else t,
    "without the first": lambda t: t[..., 1:] if t.dim() else t,
    "a row again and again": lambda t: t[:1].expand(3, *t.shape[1:]) if t.dim() and len(t) else t,
    "one more dimension": lambda t: t.unsqueeze(0),
    "of one element": lambda t: t.flatten()[-1] if t.numel() else t,
    "overlapping": lambda t: t.flatten().unfold(0, 2, 1) if t.numel() > 2 else t,
    "with NaN": lambda t: t / 0 if t.is_floating_point() else t,
    "that wants a gradient": lambda t: t.requires_grad_() if t.is_floating_point() else t,
}


def identical(one: Any, other: Any) -> bool:
    """The same types and values, NaN equal to itself and negative zero not to zero."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(identical, one, other))
    if isinstance(one, dict):
        return identical(list(one.items()), list(other.items()))
    if isinstance(one, torch.Tensor):
        return same_bits(one, other)
    if isinstance(one, float):
        return repr(one) == repr(other)
    return bool(one == other)


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Equal in dtype, shape and every bit."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    dense = [
        t.detach().reshape(-1).clone(memory_format=torch.contiguous_format) for t in (one, other)
    ]
    return bool(torch.equal(*(t.view(torch.uint8) for t in dense)))
