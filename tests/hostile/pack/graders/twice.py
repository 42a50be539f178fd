"""A suite of two checks; a hostile answer attacks in the first, at torch.tensor([2.0, 3.0])."""

import torch
from hypothesis import example, given
from hypothesis import strategies as st

from harness.suite import behaviour, edge, invariant
from harness.suite.tensors import made
from harness.suite.tolerance import close, tensor


def expect_twice(candidate, x):
    reply = candidate.attempt("twice", x)
    got = tensor(reply.value, shape=x.shape, dtype=x.dtype, what="a tensor", at=reply)
    close(got, x.double() * 2, 0.0, at=reply)


@invariant("R1", why="w", ask="a")
@given(st.integers(10, 20))
@example(0)
def test_every_element_is_doubled(candidate, count):
    """every element is doubled"""
    attacked = made("torch.tensor([2.0, 3.0])")
    expect_twice(candidate, torch.arange(count) + 1.0 if count else attacked)


@behaviour("R1", why="w", ask="a")
def test_a_lone_number_is_doubled(candidate):
    """a lone number is doubled"""
    expect_twice(candidate, torch.tensor(4.0))


@edge("R2", why="w", ask="a")
def test_truth_values_are_compared_as_such(candidate):
    """nothing is true of no element"""
    reply = candidate.attempt("is_large", torch.tensor([5.0, 7.0]))
    got = tensor(reply.value, shape=[2], dtype=torch.bool, what="a tensor", at=reply)
    close(got.float(), torch.tensor([0.0, 1.0]), 0.0, at=reply)
