"""Tolerances: what one rounding may add, and the words of a finding."""

import math

import pytest
import torch

from harness.suite import Broke
from harness.suite.tolerance import close, same_bits, ulp


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_an_ulp_is_the_gap_to_the_next_number_of_the_dtype(dtype):
    for value in (1.0, 1.5, 1.9921875, 2.0, -3.0, 0.09375, 1024.0):
        one = torch.tensor(value, dtype=dtype)
        bits = torch.int32 if dtype is torch.float32 else torch.int16
        following = (one.view(bits) + 1).view(dtype)  # the next one away from 0
        gap = (following.double() - one.double()).abs()
        assert ulp(one.double(), dtype) == gap


def test_an_ulp_of_nothing_is_the_smallest_number_of_the_dtype():
    assert ulp(torch.tensor(0.0), torch.float16) == 2.0**-24
    assert ulp(torch.tensor(1e-6), torch.float16) == 2.0**-24


def test_a_rounding_is_at_most_half_an_ulp():
    exact = torch.linspace(-3, 3, 4001, dtype=torch.float64)
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        off = (exact.to(dtype).double() - exact).abs() / ulp(exact, dtype)
        assert 0.49 < off.max() <= 0.5


def test_a_finding_names_how_many_differ_and_the_worst():
    wanted = torch.zeros(2, 6, dtype=torch.float64)
    got = wanted.clone()
    got[0, 5], got[1, 1] = 0.436, 0.002
    wanted[0, 5] = 0.125
    with pytest.raises(Broke) as broke:
        close(got, wanted, 1e-3, at=None)
    assert broke.value.wanted == "every value as exact as the dtype allows"
    assert broke.value.got == (
        "2 of 12 values differ; worst at (0, 5): wanted 0.125, got 0.436, allowed 0.001"
    )


def test_nan_and_infinity_are_held_only_by_themselves():
    special = torch.tensor([math.nan, math.inf, -math.inf])
    close(special, special, 1e9, at=None)
    for other in ([0.0, math.inf, -math.inf], [math.nan, -math.inf, -math.inf],
                  [math.nan, math.inf, 1e30]):  # fmt: skip
        with pytest.raises(Broke):
            close(torch.tensor(other), special, 1e9, at=None)
        with pytest.raises(Broke):
            close(special, torch.tensor(other), 1e9, at=None)


def test_nothing_allowed_holds_equal_values_alone():
    close(torch.tensor([0.0, 2.0]), torch.tensor([-0.0, 2.0]), 0.0, at=None)
    with pytest.raises(Broke):
        close(torch.tensor([0.0, 2.0]), torch.tensor([1e-30, 2.0]), 0.0, at=None)


def test_the_sign_of_zero_is_a_bit_and_every_nan_is_one():
    one = torch.tensor([0.0, math.nan, 1.0], dtype=torch.bfloat16)
    other = torch.tensor([-0.0, -math.nan, 1.0], dtype=torch.bfloat16)
    assert same_bits(one, other).tolist() == [False, True, True]


def test_the_picture_shows_the_dimension_in_which_the_fault_stands_out():
    wanted = torch.zeros(2, 5, 3, dtype=torch.float64)
    got = wanted.clone()
    got[:, 3] = 4.0
    got[0, 1, 0] = math.nan
    with pytest.raises(Broke) as broken:
        close(got, wanted, 0.5, at=None)
    assert broken.value.picture == {
        "kind": "errors",
        "along": "index in dimension 1 of [2, 5, 3]",
        "values": [0.0, None, 0.0, 4.0, 0.0],
        "allowed": [0.5, 0.5, 0.5, 0.5, 0.5],
        "width": 1,
    }


def test_one_value_alone_has_no_picture():
    with pytest.raises(Broke) as broken:
        close(torch.ones(1), torch.zeros(1), 0.5, at=None)
    assert broken.value.picture is None
