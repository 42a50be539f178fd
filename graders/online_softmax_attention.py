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
from harness.suite.grids import GRID, grids
from harness.suite.layouts import expanded, sliced, transposed
from harness.suite.memory import bytes_a_pair
from harness.suite.pictures import grid
from harness.suite.tensors import made
from harness.suite.tolerance import close, tensor

HALVES = (torch.float16, torch.bfloat16)
FLOATS = (torch.float32, *HALVES)
DEFAULT_BLOCK = 128
ALL = 0  # as a block size: one block of all keys
ZERO = torch.zeros(1)  # queries of it: all scores are equal
MOST_LOOKED_AT = 64  # queries or keys: a larger mask is no picture
POSITIVE = torch.tensor([1.0, 2.0, 0.5])


# Calls and their answers


@dataclass(frozen=True, slots=True)
class Inputs:
    """One call: q [B, H, T, D], k [B, H, S, D], v [B, H, S, Dv] and how it is asked.

    All keys are one block but where a claim is about several, so that one fault breaks one check.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    block_size: int | None = ALL  # None leaves it out
    causal: bool = False
    scale: float | None = None

    def answer(self) -> Dense:
        queries, keys = self.q.shape[2], self.k.shape[2]
        last = torch.arange(queries)[:, None] + keys - queries
        seen = torch.arange(keys) <= last if self.causal else None
        size = max(1, keys) if self.block_size == ALL else self.block_size or DEFAULT_BLOCK
        blocks = max(1, -(-keys // size))
        return dense_attention(self.q, self.k, self.v, scale=self.scale, seen=seen, blocks=blocks)

    def call(self, program: Program) -> Reply:
        asked: dict[str, Any] = {}
        if self.block_size is not None:
            asked["block_size"] = self.block_size or max(1, self.k.shape[2])
        if self.causal:
            asked["causal"] = True
        if self.scale is not None:
            asked["scale"] = self.scale
        return program.attention(self.q, self.k, self.v, **asked)


def rows(*numbers: Any, dtype: torch.dtype = torch.float32) -> Tensor:
    """One batch, one head: each item a token, a number or a vector."""
    tokens = torch.tensor(numbers, dtype=dtype)
    return (tokens if tokens.ndim == 2 else tokens[:, None])[None, None]


def halved(dtype: torch.dtype, q: Any, k: Any, v: Any, scale: float | None = None) -> Inputs:
    """Inputs of a half precision, written out."""
    parts = (rows(*numbers, dtype=dtype) for numbers in (q, k, v))
    return Inputs(*parts, block_size=1, scale=scale)


@st.composite
def calls(draw: Any, *, batch: Any = (1, 2), heads: Any = (1, 2), queries: Any = (1, 3),
          keys: Any = (1, 7), size: Any = (1, 1), value_size: Any = None,
          causal: Any = (False,), dtypes: Any = (torch.float32,), scales: Any = (None,),
          of: Tensor = GRID, one_block: bool = True) -> Inputs:  # fmt: skip
    """A call whose blocks are whole; each pair is the least and the most, `of` makes queries."""
    b, h = draw(st.integers(*batch)), draw(st.integers(*heads))
    t, s, d = draw(st.integers(*queries)), draw(st.integers(*keys)), draw(st.integers(*size))
    dtype = draw(st.sampled_from(dtypes))
    return Inputs(
        q=draw(grids(b, h, t, d, dtype=dtype, of=of)),
        k=draw(grids(b, h, s, d, dtype=dtype)),
        v=draw(grids(b, h, s, draw(st.integers(*value_size)) if value_size else d, dtype=dtype)),
        block_size=ALL if one_block else draw(whole_blocks(s)),
        causal=draw(st.sampled_from(causal)),
        scale=draw(st.sampled_from(scales)),
    )


def whole_blocks(keys: int) -> st.SearchStrategy[int]:
    return st.sampled_from([size for size in range(1, keys + 1) if keys % size == 0] or [1])


@st.composite
def climbs(draw: Any) -> Inputs:
    """Scores that move by one step a key: up for a query of 1, down for one of -1."""
    queries = draw(st.lists(st.sampled_from([1.0, -1.0, 0.25]), min_size=1, max_size=3))
    step = st.sampled_from([1, 0, 0.5, 3, 20, 100, -2, -100])
    steps = draw(st.lists(step, min_size=2, max_size=8))
    heights = torch.tensor(steps, dtype=torch.float32).cumsum(0)
    values = draw(grids(1, 1, len(steps), 1))
    block_size = draw(whole_blocks(len(steps)))
    return Inputs(rows(*queries), rows(*heights.tolist()), values, block_size)


def both(reply: Reply) -> tuple[Any, Any]:
    """The two results, as a tuple of any kind."""
    pair = reply.value
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise Broke("a tuple of the output and the log-sum-exp", f"{pair!r:.80}", at=reply)
    return pair[0], pair[1]


def ask(candidate: Any, inputs: Inputs) -> tuple[Reply, Dense]:
    """One call, alone on record, and the float64 answer."""
    candidate.begin_example()
    program = candidate.program()
    reply = inputs.call(program)
    program.run()
    return reply, inputs.answer()


def ask_and_look(candidate: Any, inputs: Inputs) -> tuple[Reply, Reply, Dense]:
    """The same, and a look with values that tell which keys each query averages."""
    candidate.begin_example()
    program = candidate.program()
    reply = inputs.call(program)
    queries, keys = inputs.q.shape[2], inputs.k.shape[2]
    with program.probing():
        one_hot = torch.eye(keys)[None, None]
        zeros = [torch.zeros(1, 1, n, keys) for n in (queries, keys)]
        seen = replace(inputs, q=zeros[0], k=zeros[1], v=one_hot).call(program)
    program.run()
    return reply, seen, inputs.answer()


def mask_seen(seen: Reply, inputs: Inputs) -> dict[str, Any] | None:
    """The mask as a picture, when the look tells one that is not the one wanted."""
    queries, keys = inputs.q.shape[2], inputs.k.shape[2]
    if seen.asked.failed() is not None or max(queries, keys) > MOST_LOOKED_AT:
        return None
    pair = seen.value
    weights = pair[0] if isinstance(pair, (tuple, list)) and pair else None
    if not isinstance(weights, Tensor) or weights.shape != (1, 1, queries, keys):
        return None
    wanted = torch.arange(keys) <= torch.arange(queries)[:, None] + keys - queries
    got = weights[0, 0].double().nan_to_num() > 0
    if torch.equal(wanted, got):
        return None
    return grid(wanted.tolist(), got.tolist(), rows="query", columns="key")


def output(reply: Reply, answer: Dense, dtype: torch.dtype) -> Tensor:
    return tensor(both(reply)[0], shape=answer.out.shape, dtype=dtype, what="an output", at=reply)


def log_sum_exp(reply: Reply, answer: Dense) -> Tensor:
    name = "a log-sum-exp"
    return tensor(both(reply)[1], shape=answer.lse.shape, dtype=torch.float32, what=name, at=reply)


def check_output(candidate: Any, inputs: Inputs) -> tuple[Reply, Dense]:
    """The output is that of dense attention."""
    reply, answer = ask(candidate, inputs)
    dtype = inputs.q.dtype
    out = output(reply, answer, dtype)
    close(
        out, answer.out, answer.out_allowed(dtype), what="the output of dense attention", at=reply
    )
    return reply, answer


def check_log_sum_exp(reply: Reply, answer: Dense) -> None:
    what = "the log-sum-exp of the scores"
    close(log_sum_exp(reply, answer), answer.lse, answer.lse_allowed(), what=what, at=reply)


@dataclass(frozen=True, slots=True)
class Own:
    """What the candidate itself gives for inputs that mean the same: the answer to repeat."""

    out: Tensor
    lse: Tensor
    answer: Dense

    @staticmethod
    def of(candidate: Any, inputs: Inputs) -> "Own":
        reply, answer = ask(candidate, inputs)
        return Own(output(reply, answer, torch.float32), log_sum_exp(reply, answer), answer)

    def check(
        self, candidate: Any, inputs: Inputs, where: str, shift: Tensor | float = 0.0
    ) -> None:
        """The same output again, and the log-sum-exp `shift` higher, but for rounding."""
        reply, answer = ask(candidate, inputs)
        rounding = answer.out_allowed(torch.float32) + self.answer.out_allowed(torch.float32)
        what = f"the output {where}"
        close(output(reply, answer, torch.float32), self.out, rounding, what=what, at=reply)
        rounding = answer.lse_allowed() + self.answer.lse_allowed()
        lse, what = log_sum_exp(reply, answer), f"the log-sum-exp {where}"
        close(lse, self.lse.double() + shift, rounding, what=what, at=reply)


def random(queries: int, keys: int, block_size: int | None, causal: bool = False,
           seed: int = 0, half: str = "") -> Inputs:  # fmt: skip
    """A call too long to write out: made from a seed. `half` is the method that makes it so."""
    q, k, v = (
        made(f"torch.randn(1, 1, {n}, 4, generator=torch.Generator().manual_seed({seed})){half}")
        for seed, n in enumerate((queries, keys, keys), start=seed)
    )
    return Inputs(q, k, v, block_size, causal)


def counting(queries: int, keys: int, block_size: int) -> Inputs:
    """A causal call with equal scores: each query averages the positions that it sees."""
    q = made(f"torch.zeros(1, 1, {queries}, 1)")
    k = made(f"torch.zeros(1, 1, {keys}, 1)")
    v = made(f"torch.arange({keys}.0).reshape(1, 1, {keys}, 1)")
    return Inputs(q, k, v, block_size, causal=True)


def last_of(keys: int, dtype: str) -> Inputs:
    """Two queries that ask for the last key, the only one with a value; the second one sees it."""
    q = made(f"torch.full((1, 1, 2, 1), 40.0, dtype=torch.{dtype})")
    k = made(f"(torch.arange({keys}) == {keys - 1}).to(torch.{dtype}).reshape(1, 1, {keys}, 1)")
    return Inputs(q, k, k, causal=True)


# What is computed


@behaviour(
    "R1",
    why="Every layer adds its error to the next. A weight that is slightly off leaves the text "
    "fluent and the answers worse, which no log shows.",
    ask="After the last block, what is divided by what, and why only then?",
)
@example(Inputs(rows(0), rows(0), rows(1)))
@example(Inputs(rows(0), rows(0, 0, 0), rows(3, 0, 0)))
@example(Inputs(rows([2, 0, 0, 0]), *[rows([0] * 4, [1, 0, 0, 0])] * 2))
@example(random(130, 65, block_size=ALL))
@given(calls(size=(1, 4)))
def test_the_output_is_softmax_attention(candidate, inputs):
    """the output is the average of the values, weighted by the softmax of the scaled scores"""
    check_output(candidate, inputs)


@behaviour(
    "R2",
    why="The log-sum-exp is what lets two answers over different keys be merged, across blocks, "
    "machines or a shared prefix. Wrong by a constant it gives one of them all the weight.",
    ask="How would two partial answers be merged from their outputs and log-sum-exps alone?",
)
@example(Inputs(rows(0), rows(0, 0), rows(0, 0)))
@example(Inputs(rows(1), rows(1, 1, 3), rows(0, 0, 0)))
@example(Inputs(rows(0, 0), rows(0, 0), rows(0, 0), causal=True))
@given(calls(size=(1, 4)))
def test_the_log_sum_exp_is_of_the_scaled_scores(candidate, inputs):
    """the second result is the natural log-sum-exp of the scaled scores"""
    reply, answer = ask(candidate, inputs)
    check_log_sum_exp(reply, answer)


@behaviour(
    "R1",
    why="Models set their own scale, and some are trained with one that is not D ** -0.5. The "
    "default in its place sharpens or flattens every distribution.",
    ask="Which values of an optional argument does a test of its truth confuse with None?",
    examples=0.5,
)
@example(Inputs(rows(1), rows(0, 1), rows(0, 1), scale=0.0))
@example(Inputs(rows(1), rows(0, 1, 3), rows(0, 1, 2), scale=-1.0))
@given(calls(scales=(0.0, 1.0, -1.0, 2.0, 0.125, -0.3), size=(1, 4)))
def test_a_given_scale_is_used_as_it_is(candidate, inputs):
    """a given scale is used as it is, zero and negative ones too"""
    check_output(candidate, inputs)


@invariant(
    "R3",
    why="The block size is tuned for each GPU. If it shows in the result, the same model answers "
    "differently on two machines and nobody can say which one is right.",
    ask="What is different about the last block, and which line knows it?",
    examples=0.5,
)
@example(Inputs(rows(0), rows(0, 0, 0), rows(0, 0, 3)))
@example(Inputs(rows(-1, 1), rows(1, 2, 1), rows(2, 0, 3)))
@example(random(2, 257, block_size=None))
@example(random(66, 130, block_size=None, causal=True))
@given(calls(queries=(1, 3), keys=(3, 9), size=(1, 2), causal=(False, True)))
def test_the_block_size_does_not_change_the_result(candidate, inputs):
    """every block size gives the same result: 1, one that divides, one that does not, one above"""
    keys = inputs.k.shape[2]
    whole = Own.of(candidate, replace(inputs, block_size=keys))
    for size in (*sorted({1, 2, 3, keys - 1, keys + 1, 64}), None):
        where = f"that one block of {keys} gives"
        whole.check(candidate, replace(inputs, block_size=size), where)


@behaviour(
    "R5",
    why="A chunk of a prompt comes with all keys before it, so there are more keys than queries. A "
    "mask from the top left corner hides most of the context from it.",
    ask="Which keys does the first of 2 queries see when there are 5 keys?",
)
@example(Inputs(rows(0, 0), rows(0, 0), rows(0, 1), causal=True))
@example(Inputs(rows(0), rows(0, 0, 0, 0), rows(0, 0, 0, 4), causal=True))
@example(Inputs(rows(0, 0), rows(0, 0, 0, 0, 0), rows(0, 0, 0, 1, 2), block_size=1, causal=True))
@example(Inputs(rows(0, 0, 0), rows(0, 0), rows(0, 1), causal=True))
@example(counting(130, 256, block_size=64))
@example(last_of(258, "bfloat16"))  # 257 is 256 in bfloat16
@given(calls(queries=(1, 6), keys=(1, 8), causal=(True,), of=ZERO, one_block=False))
def test_the_last_query_sees_the_last_key(candidate, inputs):
    """with causal, query i sees key j where j <= i + S - T: the last query sees the last key"""
    reply, seen, answer = ask_and_look(candidate, inputs)
    sees = answer.lse[..., None].isfinite().expand(answer.out.shape)
    dtype = getattr(both(reply)[0], "dtype", torch.float32)  # which one it is is R8's
    out = torch.where(sees, output(reply, answer, dtype).double(), answer.out)  # the rest is R6's
    allowed = answer.out_allowed(inputs.q.dtype)
    try:
        close(out, answer.out, allowed, what="the average of the values", at=reply)
    except Broke as broken:
        broken.picture = mask_seen(seen, inputs) or broken.picture
        raise


@invariant(
    "R6",
    why="Padding rows and empty contexts reach this code in every mixed batch. One NaN there "
    "spreads through the next layer to rows that were right.",
    ask="What are the running maximum and sum of a row that has seen nothing yet?",
    examples=0.5,
)
@example(Inputs(rows(0, 0), rows(0), rows(1), causal=True))
@example(Inputs(rows(0, 0, 0, 0), rows(0, 0), rows(1, 2), block_size=1, causal=True))
@given(calls(queries=(1, 7), keys=(1, 4), causal=(True,), one_block=False))
def test_a_query_that_sees_no_key_gives_zero_and_minus_infinity(candidate, inputs):
    """a query that sees no key gives 0 and -inf, and no result is NaN"""
    reply, answer = ask(candidate, inputs)
    results = output(reply, answer, torch.float32), log_sum_exp(reply, answer)
    blind = max(0, inputs.q.shape[2] - inputs.k.shape[2])  # the first queries
    words = ("output 0", "log-sum-exp -inf")
    for got, wanted, what in zip(results, (answer.out, answer.lse), words, strict=True):
        what = f"{what} for a query that sees no key"
        close(got[:, :, :blind], wanted[:, :, :blind], 0.0, what=what, at=reply)
        if got.isnan().any():
            raise Broke("no NaN", f"{int(got.isnan().sum())} of {got.numel()} values", at=reply)


# Scores that move


@invariant(
    "R7",
    why="Scores are only defined up to a constant: keys with a common part, or a bias, shift a "
    "whole row. A result that moves with it depends on what the model never meant to say.",
    ask="Which maximum is subtracted from a row, and from which scores is it taken?",
    examples=0.5,
)
@example(Inputs(rows(1, -1), rows(0, 1), rows(0, 1)), 200)
@example(Inputs(rows(1), rows(0, 1, 2), rows(0, 1, 2)), -300)
@given(calls(queries=(1, 4)), st.sampled_from([8, -8, 100, -100, 300, -300, 2000]))
def test_a_shift_of_a_row_moves_its_log_sum_exp_alone(candidate, inputs, common):
    """adding a number to every score of a row adds it to its log-sum-exp and leaves its output"""
    shift = inputs.q[..., 0].double() * common  # each row has its own
    unshifted = Own.of(candidate, inputs)
    where = f"of the keys without their common {common}"
    unshifted.check(candidate, replace(inputs, k=inputs.k + common), where, shift)


@behaviour(
    "R7",
    why="Real keys come in no order. A correction that is left out or turned around shows as soon "
    "as a later block has the greater score, so on almost every real row.",
    ask="When a block raises the maximum, which of the kept numbers change, and by what?",
)
@example(Inputs(rows(1), rows(0, 1), rows(1, 0), block_size=1))
@example(Inputs(rows(1), rows(0, 1), rows(1, 1), block_size=1))
@example(Inputs(rows(1), rows(0, 100, 200), rows(0, 1, 2), block_size=1))
@example(Inputs(rows(-1), rows(0, 100, 200), rows(0, 1, 2), block_size=1))
@given(climbs())
def test_rising_and_falling_scores_are_right(candidate, inputs):
    """a maximum that rises or falls at every block gives the right result"""
    check_output(candidate, inputs)


@edge(
    "R7",
    why="The first token of a prompt draws scores far above all others in trained models. What was "
    "summed before it must vanish, and what comes after it as well.",
    ask="What is exp(old maximum - new maximum) when the new one is 10,000 higher?",
    examples=0.5,
)
@example(Inputs(rows(1), rows(0, 0), rows(1, 0), block_size=1), 1, 10000)
@example(Inputs(rows(1), rows(0, 0), rows(100, 0), block_size=1), 1, 30)
@example(Inputs(rows(1), rows(0, 0), rows(1, 2), block_size=1), 0, 10000)
@given(
    calls(keys=(2, 8), of=POSITIVE, one_block=False),
    st.integers(0, 7),
    st.sampled_from([30, 100, 1000, 4900]),
)
def test_one_huge_score_is_right(candidate, inputs, place, height):
    """one score far above all others, wherever it stands, gives the right result"""
    k = inputs.k.clone()
    k[:, :, place % k.shape[2]] += height
    check_output(candidate, replace(inputs, k=k))


@edge(
    "R7",
    why="When all scores are far below zero each weight is, by itself, too small for a float. An "
    "accumulator that starts from 0 instead of nothing then divides zero by zero.",
    ask="What does the running maximum start from, and is that a score?",
    examples=0.5,
)
@example(Inputs(rows(1), rows(0, 0), rows(1, 3)), -200)
@given(calls(queries=(1, 4), of=POSITIVE), st.sampled_from([-100, -200, -1000, -4900]))
def test_scores_far_below_zero_are_right(candidate, inputs, level):
    """scores that all lie far below zero give the right result"""
    check_output(candidate, replace(inputs, k=inputs.k + level))


@edge(
    "R7",
    why="Scores of thousands overflow exp at once, and a bound that hides the overflow makes ties "
    "of scores that are far apart.",
    ask="Which numbers does this code pass to exp, and what is the greatest they can be?",
    examples=0.5,
)
@example(Inputs(rows(100), rows(99, 100), rows(0, 1)), 1.0)
@example(Inputs(rows(100), rows(-100, -99), rows(0, 1)), 1.0)
@example(Inputs(rows(100), rows(-100, 100), rows(1, 2)), 1.0)
@example(Inputs(rows(100, 0), rows(-100, 100), rows(1, 2), causal=True), 1.0)
@given(calls(queries=(1, 4), keys=(4, 7), causal=(False, True)), st.sampled_from([25.0, 12.5, 4.0]))
def test_scores_of_ten_thousand_are_right(candidate, inputs, times):
    """scores of up to 10,000 in either direction give the right results"""
    inputs = replace(inputs, q=inputs.q * times, k=inputs.k * times)
    reply, answer = check_output(candidate, inputs)
    check_log_sum_exp(reply, answer)


# Unkind inputs


@edge(
    "R8",
    why="float16 ends at 65,504 and bfloat16 keeps 8 bits. Scores and weights rounded to them move "
    "probability between tokens, a little more with every block.",
    ask="Where is the one place at which this code may round to half precision?",
)
@example(Inputs(*[rows(1, dtype=torch.bfloat16)] * 3, block_size=1), 0)
@example(halved(torch.bfloat16, [1], [0, -1], [-0.375, 1]), 0)
@example(halved(torch.float16, [1], [0, -1], [-0.375, 1]), 0)
@example(halved(torch.bfloat16, [3], [100, 101], [1, 0]), 0)
@example(halved(torch.float16, [[300, 300]], [[299, 298], [299.5, 297]], [[0, 0], [1, 1]], 0.01), 0)
@given(
    calls(
        batch=(1, 1),
        heads=(1, 1),
        dtypes=HALVES,
        size=(2, 5),
        keys=(2, 9),
        one_block=False,
    ),
    st.sampled_from([0, 16, 64]),
)
def test_half_precision_is_computed_in_float32(candidate, inputs, common):
    """float16 and bfloat16 are computed in float32, and only the output is rounded, once"""
    reply, answer = check_output(candidate, replace(inputs, k=inputs.k + common))
    check_log_sum_exp(reply, answer)


@edge(
    "R9",
    why="Some models have values of another size than their keys. A buffer made like the queries "
    "is the right shape for all the others.",
    ask="Which shapes here come from the queries, and which from the values?",
    examples=0.5,
)
@example(Inputs(rows([0, 0, 0]), rows([0, 0, 0], [0, 0, 0]), rows([0, 1], [2, 3])))
@example(Inputs(rows(1), rows(0, 1), rows([0, 1, 2], [3, 4, 5])))
@given(calls(size=(1, 5), value_size=(1, 7)))
def test_values_of_another_size_work(candidate, inputs):
    """values of another size than the keys work"""
    if inputs.q.shape[3] > 1:
        inputs = replace(inputs, q=torch.zeros_like(inputs.q))  # whatever the scale is taken to be
    check_output(candidate, inputs)


@edge(
    "R9",
    why="A request without new tokens, or without a context yet, is part of an ordinary step. An "
    "exception there fails the whole batch.",
    ask="How many times does the loop over blocks run when there are no keys?",
)
@example(1, 0, 1, False)
@example(0, 1, 2, False)
@example(0, 0, 1, True)
@given(st.integers(0, 2), st.just(0), st.sampled_from([1, 2, None]), st.booleans())
def test_no_queries_or_no_keys_work(candidate, some, none, block_size, causal):
    """no queries or no keys is no error, and gives output 0 and log-sum-exp -inf"""
    for queries, keys in ((some, none), (none, some)):
        q, k = (torch.ones(2, 1, n, 2) for n in (queries, keys))
        reply, answer = ask(candidate, Inputs(q, k, k, block_size, causal))
        results = output(reply, answer, torch.float32), log_sum_exp(reply, answer)
        for got, wanted in zip(results, (answer.out, answer.lse), strict=True):
            close(got, wanted, 0.0, what="output 0 and log-sum-exp -inf without keys", at=reply)


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
    examples=0.5,
    arguments=True,
)
@example(Inputs(rows([1, 2], [3, 4]), rows([1, 2], [3, 4]), rows([1, 2], [3, 4])))
@given(calls(dtypes=FLOATS, size=(1, 2), causal=(False, True), keys=(1, 5)))
def test_arguments_are_left_as_they_were(candidate, inputs):
    """queries, keys and values are left as they were"""
    reply, _ = ask(candidate, inputs)
    both(reply)


@edge(
    "R11",
    why="A projection gives [B, T, H, D] and is transposed for attention, so the real inputs are "
    "never contiguous. Code that was only tried on fresh tensors raises on the first request.",
    ask="Which operations of this code need their input in one piece?",
    examples=0.5,
)
@example(Inputs(*[torch.arange(4.0).reshape(1, 2, 2, 1)] * 3), transposed)
@given(calls(batch=(2, 2), heads=(2, 2), queries=(2, 3), keys=(2, 5), size=(1, 2)),
       st.sampled_from([transposed, sliced, expanded]))  # fmt: skip
def test_strided_arguments_give_the_same_answer(candidate, inputs, layout):
    """arguments of any strides give the same answer"""
    parts = {name: layout(getattr(inputs, name)) for name in ("q", "k", "v")}
    plain = {name: part.contiguous() for name, part in parts.items()}
    contiguous = Own.of(candidate, replace(inputs, **plain))
    contiguous.check(candidate, replace(inputs, **parts), "of the same values in one piece")


# How memory grows

QUERIES, KEYS, BLOCK = (16, 128), (2048, 32768), 128
AT_ONCE = 16  # queries whose answer the judge works out together
BYTES_A_PAIR = 0.5  # a table of booleans has 1, one of scores 4


def is_right(reply: Reply) -> None:
    """The whole output of a call, a few queries at a time: the judge's memory is small."""
    q, k, v = reply.asked.args
    causal = reply.asked.kwargs.get("causal", False)
    out = tensor(both(reply)[0], shape=q.shape, dtype=q.dtype, what="an output", at=reply)
    for stop in range(AT_ONCE, q.shape[2] + 1, AT_ONCE):
        seen = k.shape[2] - (q.shape[2] - stop if causal else 0)
        part = slice(stop - AT_ONCE, stop)
        few = Inputs(q[:, :, part], k[:, :, :seen], v[:, :, :seen], BLOCK, causal).answer()
        what = "the output of dense attention"
        close(out[:, :, part], few.out, few.out_allowed(q.dtype), what=what, at=reply)


@cost(
    "R4",
    why="Scores of all pairs are what this algorithm exists to avoid: at 100,000 tokens they are "
    "40 GB a head. A mask of all pairs is 10 GB, and is built even when the scores are not.",
    ask="Which tensor of this code is the largest, and what does its size depend on?",
    device="cpu",
)
def test_memory_does_not_grow_with_queries_times_keys(candidate):
    """extra memory does not grow with the number of queries times the number of keys"""
    for causal, half in ((True, ""), (False, ".bfloat16()")):  # each way through it, in two calls
        check_memory(candidate, causal, half)


def check_memory(candidate: Any, causal: bool, half: str) -> None:
    def plan(program: Program, queries: int, keys: int, turn: int) -> Reply:
        return random(queries, keys, BLOCK, causal, 3 * turn, half).call(program)

    spent, reply = bytes_a_pair(candidate, plan, is_right, QUERIES, KEYS, enough=BYTES_A_PAIR)
    if spent >= BYTES_A_PAIR:
        queries, keys = QUERIES[1], KEYS[1]
        total = spent * queries * keys / 2**20
        raise Broke(
            "no memory for each pair of a query and a key",
            f"{spent:.1f} bytes a pair, {total:,.0f} MiB at {queries:,} x {keys:,}",
            at=reply,
            sketch=[
                f"q = torch.randn(1, 1, {queries}, 4){half}",
                f"k, v = torch.randn(2, 1, 1, {keys}, 4){half}",
                f"attention(q, k, v, block_size={BLOCK}, causal={causal})",
            ],
        )
