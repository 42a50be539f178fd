"""Tensors of simple numbers, which shrink value by value. Imported by suites of torch problems."""

from __future__ import annotations

import math

import torch
from hypothesis import strategies as st
from torch import Tensor

Grids = st.SearchStrategy[Tensor]


def _simplicity(number: float) -> tuple[int, float, bool]:
    return number.as_integer_ratio()[1], abs(number), number < 0


# Every multiple of 1/32 from -4 to below 4, the simplest first: 0, 1, -1, 2, -2 ... Exact in every
# float type down to bfloat16.
GRID = torch.tensor(sorted((i / 32 for i in range(-128, 128)), key=_simplicity))


def grids(*shape: int, dtype: torch.dtype = torch.float32, of: Tensor = GRID) -> Grids:
    """Tensors of numbers of the grid, which shrink one by one towards 0, 1, -1, 2 ...

    `of` is another list of at most 256 numbers, the simplest first.
    """
    count = math.prod(shape)
    return st.binary(min_size=count, max_size=count).map(
        lambda raw: of[[byte % len(of) for byte in raw]].to(dtype).reshape(shape)
    )
