"""Two answers to one call are the same in type, bits and shape, or a finding does not repeat."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.replay import same

DTYPES = [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float32]
PAIRS_THAT_DIFFER = [
    (torch.zeros(2), torch.zeros(2, 1)),
    (torch.zeros(2), torch.zeros(2, dtype=torch.float64)),
    (torch.zeros(2), -torch.zeros(2)),
    (torch.tensor(1), torch.tensor(2)),
    ((1, 2), [1, 2]),
    (1, True),
    (1, 1.0),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ([torch.zeros(1)], [torch.ones(1)]),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@given(shape=st.lists(st.integers(0, 4), max_size=3), at=st.integers(0, 63))
def test_a_tensor_is_the_same_as_its_copy_and_not_with_one_value_changed(
    dtype: torch.dtype, shape: list[int], at: int
) -> None:
    one = torch.ones(shape, dtype=dtype)
    other = one.clone()
    assert same(one, other)
    if other.numel():
        other.view(-1)[at % other.numel()] = 0
        assert not same(one, other)


@pytest.mark.parametrize(("one", "other"), PAIRS_THAT_DIFFER, ids=str)
def test_these_are_not_the_same(one: object, other: object) -> None:
    assert same(one, one)
    assert not same(one, other)


def test_nan_is_the_same_as_nan() -> None:
    assert same([math.nan, torch.tensor([math.nan])], [math.nan, torch.tensor([math.nan])])


def test_where_a_tensor_lies_does_not_matter() -> None:
    wide = torch.arange(6.0)
    assert same(wide[2:4], torch.tensor([2.0, 3.0]))
    assert same(wide.view(2, 3).t(), torch.tensor([[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]))
