"""The dense float64 attention that suites judge by, against torch's own with an explicit mask."""

import math

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from harness.problems import default_pack, find_problem
from harness.suite.dense_attention import dense_attention


def drawn(queries, keys, size=3, value_size=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = ((queries, size), (keys, size), (keys, value_size))
    return [torch.randn(2, 2, *shape, generator=generator, dtype=torch.float64) for shape in shapes]


def bottom_right(queries, keys):
    return torch.arange(keys) <= torch.arange(queries)[:, None] + keys - queries


def solution(slug):
    names = {}
    exec(find_problem(default_pack(), slug).reference.read_text(), names)
    return names


@pytest.mark.parametrize("scale", [None, 0.0, 0.7])
@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (3, 3), (2, 5)])
def test_the_float64_answer_is_torchs_own(queries, keys, scale):
    q, k, v = drawn(queries, keys)
    seen = bottom_right(queries, keys)
    ours = dense_attention(q, k, v, scale=scale, seen=seen)
    theirs = scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=scale)
    torch.testing.assert_close(ours.out, theirs)


def test_the_log_sum_exp_is_that_of_the_scaled_scores():
    q, k, v = drawn(2, 4)
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(3)
    torch.testing.assert_close(dense_attention(q, k, v).lse, scores.exp().sum(-1).log())


@pytest.mark.parametrize("keys", [0, 2])
def test_a_row_that_sees_nothing_gives_zero_and_minus_infinity(keys):
    q, k, v = drawn(1, keys)
    answer = dense_attention(q, k, v, seen=torch.zeros(1, keys, dtype=torch.bool))
    assert answer.out.eq(0).all()
    assert answer.lse.eq(-math.inf).all()
    assert answer.out_allowed(torch.float32).isfinite().all()


def test_the_reference_over_a_cache_is_torchs_own():
    module = solution("gqa_attention_cache")
    q, k, v = (x.float() for x in drawn(5, 5, value_size=3))
    cache = module["KVCache"](2, 1, 6, 3)
    chunks = [slice(0, 3), slice(3, 4), slice(4, 5)]
    outs = [module["attention"](q[:, :, c], k[:, :1, c], v[:, :1, c], cache) for c in chunks]
    mask = bottom_right(5, 5)
    theirs = scaled_dot_product_attention(q, k[:, :1], v[:, :1], attn_mask=mask, enable_gqa=True)
    torch.testing.assert_close(torch.cat(outs, dim=2), theirs)


@pytest.mark.parametrize("block_size", [1, 3, 8])
def test_the_reference_over_blocks_is_torchs_own(block_size):
    attention = solution("online_softmax_attention")["attention"]
    q, k, v = (x.float() for x in drawn(4, 7))
    out, _ = attention(q, k, v, block_size=block_size, causal=True)
    theirs = scaled_dot_product_attention(q, k, v, attn_mask=bottom_right(4, 7))
    torch.testing.assert_close(out, theirs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_margin_holds_float32_and_breaks_zeros_and_rounded_scores(dtype):
    q, k, v = (x.to(dtype) for x in drawn(6, 9, seed=1))
    answer = dense_attention(q, k, v, scale=2.0)

    def outside(scores):
        out = (scores.float().softmax(-1) @ v.float()).to(dtype)
        return int(((out.double() - answer.out).abs() > answer.out_allowed(dtype)).sum())

    exact = 2.0 * q.float() @ k.float().mT
    assert outside(exact) == 0
    lower = torch.bfloat16 if dtype is torch.float32 else dtype
    assert outside(exact.to(lower)) > answer.out.numel() / 8
    assert (answer.out.abs() > answer.out_allowed(dtype)).sum() > answer.out.numel() * 0.9
