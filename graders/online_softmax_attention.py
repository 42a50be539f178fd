"""What attention over blocks of keys must hold, judged against dense attention in float64.

Both results are compared element by element, within what honest float32 arithmetic may add. The
scores that break an online softmax are made on purpose: rising, falling, far from zero, hidden.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from harness.suite import Broke, Program, Reply, behaviour, cost, edge, invariant, refused
from harness.suite.dense_attention import Dense, dense_attention
from harness.suite.grids import grids
from harness.suite.layouts import expanded, sliced, transposed
from harness.suite.memory import bytes_a_pair
from harness.suite.tensors import made
from harness.suite.tolerance import close, tensor

HALVES = (torch.float16, torch.bfloat16)
FLOATS = (torch.float32, *HALVES)
DEFAULT_BLOCK = 128


# Calls and their answers


@dataclass(frozen=True, slots=True)
class Inputs:
    """One call: q [B, H, T, D], k [B, H, S, D], v [B, H, S, Dv] and how it is asked."""

    q: Tensor
    k: Tensor
    v: Tensor
    block_size: int | None = 2  # None leaves it out
    causal: bool = False
    scale: float | None = None

    def answer(self) -> Dense:
        queries, keys = self.q.shape[2], self.k.shape[2]
        last = torch.arange(queries)[:, None] + keys - queries
        seen = torch.arange(keys) <= last if self.causal else None
        blocks = max(1, -(-keys // (self.block_size or DEFAULT_BLOCK)))
        return dense_attention(self.q, self.k, self.v, scale=self.scale, seen=seen, blocks=blocks)

    def call(self, program: Program) -> Reply:
        asked: dict[str, Any] = {}
        if self.block_size is not None:
            asked["block_size"] = self.block_size
        if self.causal:
            asked["causal"] = True
        if self.scale is not None:
            asked["scale"] = self.scale
        return program.attention(self.q, self.k, self.v, **asked)


def rows(*numbers: Any, dtype: torch.dtype = torch.float32) -> Tensor:
    """One batch, one head: each item a token, a number or a vector."""
    tokens = torch.tensor(numbers, dtype=dtype)
    return (tokens if tokens.ndim == 2 else tokens[:, None])[None, None]


@st.composite
def calls(draw: Any, *, batch: Any = (1, 2), heads: Any = (1, 2), queries: Any = (1, 3),
          keys: Any = (1, 7), size: Any = (1, 4), value_size: Any = (1, 3), causal: Any = (False,),
          dtypes: Any = (torch.float32,), scales: Any = (None,)) -> Inputs:  # fmt: skip
    """A call; each pair is the least and the most."""
    b, h = draw(st.integers(*batch)), draw(st.integers(*heads))
    t, s, d = draw(st.integers(*queries)), draw(st.integers(*keys)), draw(st.integers(*size))
    dtype = draw(st.sampled_from(dtypes))
    return Inputs(
        q=draw(grids(b, h, t, d, dtype=dtype)),
        k=draw(grids(b, h, s, d, dtype=dtype)),
        v=draw(grids(b, h, s, draw(st.integers(*value_size)), dtype=dtype)),
        block_size=draw(st.sampled_from([2, 1, 3, 5, None])),
        causal=draw(st.sampled_from(causal)),
        scale=draw(st.sampled_from(scales)),
    )


@st.composite
def climbs(draw: Any) -> Inputs:
    """Scores that move by one step a key: up for a query of 1, down for one of -1."""
    queries = draw(st.lists(st.sampled_from([1.0, -1.0, 0.25]), min_size=1, max_size=3))
    step = st.sampled_from([1, 0, 0.5, 3, 20, 100, -2, -100])
    steps = draw(st.lists(step, min_size=2, max_size=8))
    heights = torch.tensor(steps, dtype=torch.float32).cumsum(0)
    values = draw(grids(1, 1, len(steps), 2))
    block_size = draw(st.integers(1, 3))
    return Inputs(rows(*queries), rows(*heights.tolist()), values, block_size, scale=1.0)


def both(reply: Reply) -> tuple[Any, Any]:
    """The two results, as a tuple of any kind."""
    pair = reply.value
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise Broke("a tuple of the output and the log-sum-exp", f"{pair!r:.80}", at=reply)
    return pair[0], pair[1]


def ask(candidate: Any, inputs: Inputs) -> tuple[Reply, Dense]:
    program = candidate.program()
    reply = inputs.call(program)
    program.run()
    return reply, inputs.answer()


def check_output(reply: Reply, answer: Dense, dtype: torch.dtype) -> None:
    out = tensor(both(reply)[0], shape=answer.out.shape, dtype=dtype, what="an output", at=reply)
    close(
        out, answer.out, answer.out_allowed(dtype), what="the output of dense attention", at=reply
    )


def check_lse(reply: Reply, answer: Dense) -> None:
    lse = tensor(both(reply)[1], shape=answer.lse.shape, dtype=torch.float32,
                 what="a log-sum-exp", at=reply)  # fmt: skip
    close(lse, answer.lse, answer.lse_allowed(), what="the log-sum-exp of the scores", at=reply)


def check(candidate: Any, inputs: Inputs) -> None:
    """Both results are those of dense attention."""
    reply, answer = ask(candidate, inputs)
    check_output(reply, answer, inputs.q.dtype)
    check_lse(reply, answer)


# What is computed


@behaviour(
    "R1",
    why="Every layer adds its error to the next. A weight that is slightly off leaves the text "
    "fluent and the answers worse, which no log shows.",
    ask="After the last block, what is divided by what, and why only then?",
)
@example(Inputs(rows(0), rows(0), rows(1)))
@example(Inputs(rows(0), rows(0, 0, 0), rows(3, 0, 0)))
@example(Inputs(rows([2, 0, 0, 0]), rows([0] * 4, [1, 0, 0, 0]), rows(0, 1)))
@given(calls())
def test_the_output_is_softmax_attention(candidate, inputs):
    """the output is the average of the values, weighted by the softmax of the scaled scores"""
    reply, answer = ask(candidate, inputs)
    check_output(reply, answer, torch.float32)


@behaviour(
    "R2",
    why="The log-sum-exp is what lets two answers over different keys be merged, across blocks, "
    "machines or a shared prefix. Wrong by a constant it gives one of them all the weight.",
    ask="How would two partial answers be merged from their outputs and log-sum-exps alone?",
)
@example(Inputs(rows(0), rows(0, 0), rows(0, 0)))
@example(Inputs(rows(1), rows(1, 1, 3), rows(0, 0, 0)))
@example(Inputs(*[rows(3, dtype=torch.bfloat16)] * 3, block_size=1, scale=1.03125))
@given(calls(dtypes=FLOATS))
def test_the_log_sum_exp_is_of_the_scaled_scores(candidate, inputs):
    """the second result is the natural log-sum-exp of the scaled scores, in float32"""
    reply, answer = ask(candidate, inputs)
    check_lse(reply, answer)


@behaviour(
    "R1",
    why="Models set their own scale, and some are trained with one that is not D ** -0.5. The "
    "default in its place sharpens or flattens every distribution.",
    ask="Which values of an optional argument does a test of its truth confuse with None?",
)
@example(Inputs(rows(1), rows(0, 1), rows(0, 1), scale=0.0))
@example(Inputs(rows(1), rows(0, 1, 3), rows(0, 1, 2), scale=-1.0))
@given(calls(scales=(0.0, 1.0, -1.0, 2.0, 0.125, -0.3), causal=(False, True)))
def test_a_given_scale_is_used_as_it_is(candidate, inputs):
    """a given scale is used as it is, zero and negative ones too"""
    check(candidate, inputs)


@invariant(
    "R3",
    why="The block size is tuned for each GPU. If it shows in the result, the same model answers "
    "differently on two machines and nobody can say which one is right.",
    ask="What is different about the last block, and which line knows it?",
)
@example(Inputs(rows(0), rows(0, 0, 0), rows(0, 0, 3)))
@example(Inputs(rows(-1, 1), rows(1, 2, 1), rows(2, 0, 3)))
@given(calls(keys=(1, 9), causal=(False, True)))
def test_the_block_size_does_not_change_the_result(candidate, inputs):
    """every block size gives the same result: 1, one that divides, one that does not, one above"""
    keys = inputs.k.shape[2]
    for size in sorted({1, 2, 3, max(1, keys - 1), keys, keys + 1, 64}):
        candidate.begin_example()
        check(candidate, replace(inputs, block_size=size))


@behaviour(
    "R5",
    why="A chunk of a prompt comes with all keys before it, so there are more keys than queries. A "
    "mask from the top left corner hides most of the context from it.",
    ask="Which keys does the first of 2 queries see when there are 5 keys?",
)
@example(Inputs(rows(0, 0), rows(0, 0), rows(0, 1), causal=True))
@example(Inputs(rows(0), rows(0, 0, 0), rows(0, 0, 1), causal=True))
@example(Inputs(rows(0, 0), rows(*[0] * 5), rows(0, 0, 0, 1, 2), causal=True))
@given(calls(queries=(1, 6), keys=(6, 9), causal=(True,)))
def test_the_last_query_sees_the_last_key(candidate, inputs):
    """with causal, query i sees key j where j <= i + S - T: the last query sees the last key"""
    check(candidate, inputs)


@invariant(
    "R6",
    why="Padding rows and empty contexts reach this code in every mixed batch. One NaN there "
    "spreads through the next layer to rows that were right.",
    ask="What are the running maximum and sum of a row that has seen nothing yet?",
)
@example(Inputs(rows(0), torch.zeros(1, 1, 0, 1), torch.zeros(1, 1, 0, 1)))
@example(Inputs(rows(0, 0), rows(0), rows(1), causal=True))
@example(Inputs(rows(0, 0, 0, 0), rows(0, 0), rows(1, 2), block_size=1, causal=True))
@given(calls(queries=(1, 7), keys=(0, 4), causal=(True,), dtypes=FLOATS))
def test_a_query_that_sees_no_key_gives_zero_and_minus_infinity(candidate, inputs):
    """a query that sees no key gives 0 and -inf, and no result is NaN"""
    check(candidate, inputs)


# Scores that move


@invariant(
    "R7",
    why="Scores are only defined up to a constant: keys with a common part, or a bias, shift a "
    "whole row. A result that moves with it depends on what the model never meant to say.",
    ask="Which maximum is subtracted from a row, and from which scores is it taken?",
)
@example(Inputs(rows(0, 0), rows(0, 1), rows(0, 1), scale=1.0), [0, 200])
@example(Inputs(rows(1), rows(0, 1, 2), rows(0, 1, 2), scale=1.0), [-300])
@given(
    calls(queries=(1, 4), scales=(1.0, 0.5)),
    st.lists(st.sampled_from([0, 8, -8, 100, -100, 300, -300, 2000]), min_size=4, max_size=4),
)
def test_a_shift_of_a_row_moves_its_log_sum_exp_alone(candidate, inputs, shifts):
    """adding a number to every score of a row adds it to its log-sum-exp and leaves its output"""
    b, h, t, _ = inputs.q.shape
    shift = torch.tensor(shifts[:t], dtype=torch.float32)[:, None].expand(b, h, t, 1)
    ones = torch.ones(*inputs.k.shape[:3], 1)  # a channel of its own, so each row has its shift
    check(
        candidate,
        replace(inputs, q=torch.cat([inputs.q, shift], -1), k=torch.cat([inputs.k, ones], -1)),
    )


@behaviour(
    "R7",
    why="Real keys come in no order. A correction that is left out or turned around shows as soon "
    "as a later block has the greater score, so on almost every real row.",
    ask="When a block raises the maximum, which of the kept numbers change, and by what?",
)
@example(Inputs(rows(1), rows(0, 1), rows(1, 0), block_size=1, scale=1.0))
@example(Inputs(rows(1), rows(0, 1), rows(1, 1), block_size=1, scale=1.0))
@example(Inputs(rows(1), rows(0, 100, 200), rows(0, 1, 2), block_size=1, scale=1.0))
@example(Inputs(rows(-1), rows(0, 100, 200), rows(0, 1, 2), block_size=1, scale=1.0))
@given(climbs())
def test_rising_and_falling_scores_are_right(candidate, inputs):
    """a maximum that rises or falls at every block gives the right result"""
    check(candidate, inputs)


@edge(
    "R7",
    why="The first token of a prompt draws scores far above all others in trained models. What was "
    "summed before it must vanish, and what comes after it as well.",
    ask="What is exp(old maximum - new maximum) when the new one is 10,000 higher?",
)
@example(Inputs(rows(1), rows(0, 10000), rows(1, 0), block_size=1, scale=1.0), 0, 0)
@example(Inputs(rows(1), rows(0, 30), rows(100, 0), block_size=1, scale=1.0), 0, 0)
@example(Inputs(rows(1), rows(10000, 0), rows(1, 2), block_size=1, scale=1.0), 0, 0)
@given(
    calls(keys=(2, 8), size=(1, 2), scales=(1.0,)), st.integers(0, 7),
    st.sampled_from([30, 100, 1000, 9000]),
)  # fmt: skip
def test_one_huge_score_is_right(candidate, inputs, place, height):
    """one score far above all others, wherever it stands, gives the right result"""
    b, h, t, _ = inputs.q.shape
    peak = torch.zeros(*inputs.k.shape[:3], 1)
    peak[:, :, place % inputs.k.shape[2]] = height
    ones = torch.ones(b, h, t, 1)
    if height:
        inputs = replace(
            inputs, q=torch.cat([inputs.q, ones], -1), k=torch.cat([inputs.k, peak], -1)
        )
    check(candidate, inputs)


@edge(
    "R7",
    why="When all scores are far below zero each weight is, by itself, too small for a float. An "
    "accumulator that starts from 0 instead of nothing then divides zero by zero.",
    ask="What does the running maximum start from, and is that a score?",
)
@example(Inputs(rows(-200), rows(1, 1), rows(1, 3), scale=1.0), 0)
@given(calls(queries=(1, 4), causal=(False, True), scales=(1.0,)),
       st.sampled_from([-100, -200, -1000, -5000]))  # fmt: skip
def test_scores_far_below_zero_are_right(candidate, inputs, level):
    """scores that all lie far below zero give the right result"""
    b, h, t, _ = inputs.q.shape
    if level:
        low = torch.full((b, h, t, 1), float(level))
        ones = torch.ones(*inputs.k.shape[:3], 1)
        inputs = replace(
            inputs, q=torch.cat([inputs.q, low], -1), k=torch.cat([inputs.k, ones], -1)
        )
    check(candidate, inputs)


@edge(
    "R7",
    why="Scores of thousands overflow exp at once, and a bound that hides the overflow makes ties "
    "of scores that are far apart.",
    ask="Which numbers does this code pass to exp, and what is the greatest they can be?",
)
@example(Inputs(rows(100), rows(99, 100), rows(0, 1), block_size=1, scale=1.0), 0)
@example(Inputs(rows(100), rows(-100, -99), rows(0, 1), block_size=1, scale=1.0), 0)
@example(Inputs(rows(100), rows(-100, 100, 99), rows(1, 2, 3), block_size=1, scale=1.0), 0)
@example(Inputs(rows(100, 100), rows(-100, 100), rows(1, 2), causal=True, scale=1.0), 0)
@given(calls(queries=(1, 4), causal=(False, True), dtypes=FLOATS, size=(1, 3)), st.integers(0, 8))
def test_scores_of_ten_thousand_are_right(candidate, inputs, power):
    """scores of up to 10,000 in either direction give the right result"""
    if inputs.scale is None:
        greatest = float((inputs.q.double() @ inputs.k.double().mT).abs().max())
        scale = 1e4 / greatest * 2.0**-power if greatest else 1.0
        inputs = replace(inputs, scale=scale)
    check(candidate, inputs)


# Unkind inputs


@edge(
    "R8",
    why="float16 ends at 65,504 and bfloat16 keeps 8 bits. Scores and weights rounded to them move "
    "probability between tokens, a little more with every block.",
    ask="Where is the one place at which this code may round to half precision?",
)
@example(Inputs(*[rows(1, dtype=torch.bfloat16)] * 3), 0)
@example(Inputs(rows([300, 300], dtype=torch.float16),
                rows([299, 298], [300, 297], dtype=torch.float16),
                rows([0, 1], [1, 0], dtype=torch.float16), scale=0.01), 0)  # fmt: skip
@example(Inputs(rows([3, 3], dtype=torch.bfloat16),
                rows([64, 64], [64.5, 64], dtype=torch.bfloat16),
                rows([1, -1], [-1, 1], dtype=torch.bfloat16)), 0)  # fmt: skip
@given(calls(dtypes=HALVES, size=(2, 5), keys=(2, 9)), st.sampled_from([0, 16, 64]))
def test_half_precision_is_computed_in_float32(candidate, inputs, offset):
    """float16 and bfloat16 are computed in float32 and the output rounded once, at the end"""
    inputs = replace(inputs, k=inputs.k + offset)
    reply, answer = ask(candidate, inputs)
    check_output(reply, answer, inputs.q.dtype)


@edge(
    "R9",
    why="Some models have values of another size than their keys. A buffer made like the queries "
    "is the right shape for all the others.",
    ask="Which shapes here come from the queries, and which from the values?",
)
@example(Inputs(rows([1, 0, 0, 0]), rows([0] * 4, [2, 0, 0, 0]), rows(0, 1)))
@example(Inputs(rows(1), rows(0, 1), rows([0, 1, 2], [3, 4, 5])))
@given(calls(size=(1, 5), value_size=(1, 7), causal=(False, True)))
def test_values_of_another_size_work(candidate, inputs):
    """values of another size than the keys work"""
    check(candidate, inputs)


@edge(
    "R9",
    why="A request without new tokens, or without a context yet, is part of an ordinary step. An "
    "exception there fails the whole batch.",
    ask="How many times does the loop over blocks run when there are no keys?",
)
@example(Inputs(torch.zeros(1, 1, 0, 1), rows(0), rows(0)))
@example(Inputs(rows(0), torch.zeros(1, 1, 0, 1), torch.zeros(1, 1, 0, 1)))
@example(Inputs(*[torch.zeros(1, 1, 0, 1)] * 3, causal=True))
@given(calls(queries=(0, 2), keys=(0, 2), causal=(False, True), dtypes=FLOATS))
def test_no_queries_or_no_keys_work(candidate, inputs):
    """no queries or no keys is no error"""
    check(candidate, inputs)


REFUSED_SHAPES = (  # q, k, v
    ((2, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4)),
    ((1, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 4)),
    ((2, 2, 3, 4), (2, 1, 5, 4), (2, 1, 5, 4)),
    ((2, 1, 3, 4), (2, 2, 5, 4), (2, 2, 5, 4)),
    ((2, 4, 3, 4), (2, 2, 5, 4), (2, 2, 5, 4)),
    ((2, 2, 3, 4), (2, 2, 5, 3), (2, 2, 5, 4)),
    ((2, 2, 3, 4), (2, 2, 5, 1), (2, 2, 5, 4)),
    ((2, 2, 3, 1), (2, 2, 5, 4), (2, 2, 5, 4)),
    ((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 6, 4)),
    ((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 4, 4)),
    ((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 1, 4)),
    ((2, 2, 3, 4), (2, 2, 1, 4), (2, 2, 5, 4)),
    ((2, 2, 3, 4), (2, 2, 5, 4), (2, 1, 5, 4)),
    ((2, 2, 3, 4), (2, 2, 5, 4), (1, 2, 5, 4)),
    ((2, 3, 4), (2, 5, 4), (2, 5, 4)),
    ((2, 2, 3, 4), (2, 5, 4), (2, 5, 4)),
    ((1, 2, 2, 3, 4), (1, 2, 2, 5, 4), (1, 2, 2, 5, 4)),
)


@edge(
    "R10",
    why="Shapes that disagree are a bug of the caller. Broadcast in silence, one head's keys "
    "answer for all; and a block size of 0 or less turns the loop into no loop at all.",
    ask="Which of these would torch have spread over a dimension without a word?",
)
def test_shapes_that_do_not_agree_are_refused(candidate):
    """shapes that do not agree and a block size below 1 are refused with ValueError"""
    good = torch.ones(1, 1, 2, 2)
    for size in (0, -1):
        candidate.begin_example()
        refused(candidate.attempt("attention", good, good, good, block_size=size), "ValueError")
    for shapes in REFUSED_SHAPES:
        candidate.begin_example()
        refused(candidate.attempt("attention", *map(torch.ones, shapes)), "ValueError")


@edge(
    "R11",
    why="The caller still needs its queries, for the next layer's residual or for a second look. "
    "Scaled in place they are wrong only there, far from this function.",
    ask="When does a conversion to float32 give the same tensor back?",
    arguments=True,
)
@example(Inputs(rows([1, 2], [3, 4]), rows([1, 2], [3, 4]), rows([1, 2], [3, 4])))
@given(calls(dtypes=FLOATS, causal=(False, True), keys=(0, 5)))
def test_arguments_are_left_as_they_were(candidate, inputs):
    """queries, keys and values are left as they were"""
    reply, _ = ask(candidate, inputs)
    both(reply)


@edge(
    "R11",
    why="A projection gives [B, T, H, D] and is transposed for attention, so the real inputs are "
    "never contiguous. Code that was only tried on fresh tensors raises on the first request.",
    ask="Which operations of this code need their input in one piece?",
)
@example(Inputs(*[torch.arange(4.0).reshape(1, 2, 2, 1)] * 3), transposed)
@given(calls(batch=(2, 2), heads=(2, 2), queries=(2, 3), keys=(2, 5)),
       st.sampled_from([transposed, sliced, expanded]))  # fmt: skip
def test_strided_arguments_give_the_same_answer(candidate, inputs, layout):
    """arguments of any strides give the same answer"""
    check(candidate, replace(inputs, q=layout(inputs.q), k=layout(inputs.k), v=layout(inputs.v)))


# How memory grows

QUERIES, KEYS, BLOCK = (16, 256), (2048, 32768), 128
BYTES_A_PAIR = 0.5  # a table of booleans has 1, one of scores 4


@cost(
    "R4",
    why="Scores of all pairs are what this algorithm exists to avoid: at 100,000 tokens they are "
    "40 GB a head. A mask of all pairs is 10 GB, and is built even when the scores are not.",
    ask="Which tensor of this code is the largest, and what does its size depend on?",
    device="cpu",
)
def test_memory_does_not_grow_with_queries_times_keys(candidate):
    """extra memory does not grow with the number of queries times the number of keys"""

    def plan(program: Program, queries: int, keys: int) -> Reply:
        q, k = (made(f"torch.ones(1, 1, {n}, 4)") for n in (queries, keys))
        return Inputs(q, k, k, BLOCK, causal=True).call(program)

    spent, reply = bytes_a_pair(candidate, plan, QUERIES, KEYS, enough=BYTES_A_PAIR)
    both(reply)
    if spent >= BYTES_A_PAIR:
        queries, keys = QUERIES[1], KEYS[1]
        total = spent * queries * keys / 2**20
        raise Broke(
            "no memory for each pair of a query and a key",
            f"{spent:.1f} bytes a pair, {total:,.0f} MiB at {queries:,} x {keys:,}",
            at=reply,
            sketch=[
                f"attention(q, k, v, block_size={BLOCK}, causal=True)"
                f"  # {queries:,} queries, {keys:,} keys of size 4"
            ],
        )
