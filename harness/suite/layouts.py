"""The same values under other strides, for suites whose statement allows any."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hypothesis import example

POISON_TOKEN = -7  # what an integer buffer holds around a slice; floats have NaN there


def transposed(tensor: Any) -> Any:
    """Laid out last dimension first."""
    order = tuple(reversed(range(tensor.ndim)))
    return tensor.permute(order).contiguous().permute(order)


def sliced(tensor: Any) -> Any:
    """Every second entry of a larger buffer, whose other entries are poison."""
    poison = float("nan") if tensor.is_floating_point() else POISON_TOKEN
    buffer = tensor.new_full([2 * size + 1 for size in tensor.shape], poison)
    window = buffer[tuple(slice(1, None, 2) for _ in tensor.shape)]
    window.copy_(tensor)
    return window


def expanded(tensor: Any) -> Any:
    """The first entry of the first dimension as often as there are entries: a stride of 0."""
    return tensor[:1].expand(tensor.shape)


def each(values: Iterable[Any]) -> Callable[[Any], Any]:
    """Every one of these values as an example of a check with one argument, whatever the budget."""

    def decorate(check: Any) -> Any:
        for value in values:
            check = example(value)(check)
        return check

    return decorate
