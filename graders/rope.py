"""What a rotary embedding must hold, judged pair by pair against float64.

One fault is to break one check. Everywhere but in the checks about exactness an angle may be an
fp32 product, whose error grows with the angle. Everywhere but in the checks about pairing the
channels may pair by either convention.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from harness.suite import Broke, Reply, behaviour, edge, invariant, refused
from harness.suite.grids import grids
from harness.suite.layouts import expanded, sliced, transposed
from harness.suite.tensors import made
from harness.suite.tolerance import close, same_bits, tensor, ulp

HALVES = (torch.float16, torch.bfloat16)
EPS32 = torch.finfo(torch.float32).eps
FEW = 8  # gaps of fp32 or fp64 beside a pair of length 1: products, sum, sine, cosine, angle
FEW_OF_A_HALF = 4  # the same for fp16 and bf16, where one rounding at the end is half a gap
FAR = 8192  # positions in checks that are not about exactness
THETAS = (10000.0, 500000.0, 100.0, 1234.5)


# Calls and their answers


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of one call of `apply_rope`."""

    x: Tensor  # [B, H, T, D]
    positions: Tensor  # [T] or [B, T]
    theta: float = 10000.0
    interleaved: bool = False
    rotary_dim: int | None = None

    @property
    def turning(self) -> int:
        return self.x.shape[-1] if self.rotary_dim is None else self.rotary_dim

    def options(self) -> dict[str, Any]:
        """What differs from the defaults."""
        given = {"theta": self.theta, "interleaved": self.interleaved}
        plain = {"theta": 10000.0, "interleaved": False}
        options = {name: value for name, value in given.items() if value != plain[name]}
        return options if self.rotary_dim is None else {**options, "rotary_dim": self.rotary_dim}

    def of(self, asked: Any) -> Any:
        """The call, made now or planned."""
        return asked.apply_rope(self.x, self.positions, **self.options())


@dataclass(frozen=True, slots=True)
class Answer:
    """Each channel's float64 answer, and the length and the angle of the pair it is in."""

    out: Tensor
    length: Tensor
    angle: Tensor


def answer(call: Call) -> Answer:
    """One pair at a time, in float64."""
    x, r = call.x.double(), call.turning
    out, length, angle = x.clone(), torch.zeros_like(x), torch.zeros_like(x)
    for i in range(r // 2):
        first, second = (2 * i, 2 * i + 1) if call.interleaved else (i, i + r // 2)
        turn = call.positions.double() * call.theta ** (-2 * i / r)  # (T) or (B, T)
        turn = turn.expand(len(x), -1)[:, None]  # (B, 1, T)
        a, b = x[..., first], x[..., second]
        out[..., first] = a * turn.cos() - b * turn.sin()
        out[..., second] = b * turn.cos() + a * turn.sin()
        for channel in (first, second):
            length[..., channel] = torch.hypot(a, b)
            angle[..., channel] = turn
    return Answer(out, length, angle)


def few_roundings(wanted: Answer, dtype: torch.dtype) -> Tensor:
    """A few gaps of the dtype beside the length of the pair; for fp64 its angles' own error too."""
    eps = torch.finfo(dtype).eps
    few = FEW_OF_A_HALF if dtype in HALVES else FEW
    if dtype == torch.float64:
        # an exponent, a power and a product each round; ln(theta) multiplies the first
        return (few + 64 * wanted.angle) * eps * wanted.length
    return few * eps * wanted.length


def one_rounding(wanted: Answer, dtype: torch.dtype) -> Tensor:
    """Half a gap of the dtype at the answer itself, after an fp32 computation, angles included."""
    in_fp32 = 2 * FEW * EPS32 * wanted.length + fp32_angles(wanted)
    return ulp(wanted.out, dtype) / 2 + in_fp32


def any_angles(wanted: Answer, dtype: torch.dtype) -> Tensor:
    """A few roundings, and what angles in fp32 add: how exact they are is another check's claim."""
    return few_roundings(wanted, dtype) + fp32_angles(wanted)


def fp32_angles(wanted: Answer) -> Tensor:
    """What angles add that were multiplied in fp32 from frequencies that were made in it."""
    return 16 * EPS32 * wanted.angle * wanted.length


def result(reply: Reply, call: Call) -> Tensor:
    return tensor(reply.value, shape=call.x.shape, dtype=call.x.dtype, what="a result", at=reply)


def values(reply: Reply, call: Call) -> Tensor:
    """A result, rounded to the dtype of `x`: in which it comes is the claim of other checks."""
    got = reply.value
    is_float = isinstance(got, Tensor) and got.is_floating_point()
    dtype = got.dtype if is_float else call.x.dtype
    got = tensor(got, shape=call.x.shape, dtype=dtype, what="a result", at=reply)
    return got.to(call.x.dtype)


def turns_right(
    candidate: Any, call: Call, *, pairing: bool = False, allow: Any = any_angles
) -> None:
    """One call against its answer; which convention it pairs by is looked at only if asked for."""
    reply = candidate.attempt("apply_rope", call.x, call.positions, **call.options())
    got = result(reply, call)
    try:
        is_close(got, call, allow, at=reply)
    except Broke as broke:
        other = replace(call, interleaved=not call.interleaved)
        if pairing or not _holds(got, other, allow):
            raise broke from None


def is_close(got: Tensor, call: Call, allow: Any, *, at: Any) -> None:
    wanted = answer(call)
    close(got, wanted.out, allow(wanted, call.x.dtype), at=at)


def _holds(got: Tensor, call: Call, allow: Any) -> bool:
    try:
        is_close(got, call, allow, at=None)
    except Broke:
        return False
    return True


def tokens(*rows: Any, dtype: torch.dtype = torch.float32) -> Tensor:
    """One row of a batch, one head: the channels of each token."""
    return torch.tensor([[list(rows)]], dtype=dtype)


def at(*positions: Any, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.tensor(list(positions), dtype=dtype)


@st.composite
def positions(draw: Any, batch: int, count: int, *, most: int, per_row: Any = (False, True),
              dtype: torch.dtype = torch.int64) -> Tensor:  # fmt: skip
    """[T] or [B, T] positions in any order, with repeats."""
    shape = (batch, count) if draw(st.sampled_from(per_row)) else (count,)
    size = math.prod(shape)
    chosen = draw(st.lists(st.integers(0, most), min_size=size, max_size=size))
    return torch.tensor(chosen, dtype=dtype).reshape(shape)


@st.composite
def calls(draw: Any, *, batch: Any = (1, 2), heads: Any = (1, 2), length: Any = (1, 4),
          pairs: Any = (1, 3), rest: Any = (0, 0), interleaved: Any = (False, True),
          thetas: Any = THETAS[:1], dtypes: Any = (torch.float32,), most: int = 300,
          per_row: Any = (False, True)) -> Call:  # fmt: skip
    """A call; each pair of numbers is the least and the most. Twice `rest` channels do not turn."""
    b, h, t = (draw(st.integers(*bounds)) for bounds in (batch, heads, length))
    r, spare = 2 * draw(st.integers(*pairs)), 2 * draw(st.integers(*rest))
    return Call(
        x=draw(grids(b, h, t, r + spare, dtype=draw(st.sampled_from(dtypes)))),
        positions=draw(positions(b, t, most=most, per_row=per_row)),
        theta=draw(st.sampled_from(thetas)),
        interleaved=draw(st.sampled_from(interleaved)),
        rotary_dim=r if spare else None,
    )


# Which channels pair, and how far they turn


@behaviour(
    "R1",
    why="The slow pairs tell far tokens apart. With a wrong exponent they turn too fast, and a "
    "model that reads short texts well loses its way in long ones.",
    ask="How many positions does the slowest pair of a head of 128 take for one turn?",
    examples=0.5,
)
@example(4, 10000.0)
@example(2, 10000.0)
@example(4, 500000.0)
@given(st.integers(1, 64).map(lambda n: 2 * n), st.sampled_from(THETAS))
def test_frequencies_are_powers_of_theta(candidate, head_dim, theta):
    """frequency i is theta ** (-2 i / head_dim)"""
    given_theta = () if theta == 10000.0 else (theta,)
    reply = candidate.attempt("rope_frequencies", head_dim, *given_theta)
    got = reply.value
    is_float = isinstance(got, Tensor) and got.dtype in (torch.float32, torch.float64)
    dtype = got.dtype if is_float else torch.float32
    got = tensor(got, shape=[head_dim // 2], dtype=dtype, what="frequencies", at=reply)
    wanted = torch.tensor(
        [theta ** (-2 * i / head_dim) for i in range(head_dim // 2)], dtype=torch.float64
    )
    # a rounding of the exponent counts ln(theta) times
    close(got, wanted, wanted * EPS32 * (FEW + math.log(theta)), at=reply)


@behaviour(
    "R3",
    why="Weights are trained with one pairing. Under the other one the same tensors load, the "
    "shapes agree, and the model talks nonsense from the first token.",
    ask="Which permutation of the query's and key's weights turns one convention into the other?",
)
@example(Call(tokens([1, 0, 0, 0]), at(1)))
@example(Call(tokens([0, 1, 0, 0]), at(1)))
@example(Call(tokens([1, 0, 0, 0, 0, 0]), at(1)))
@given(calls(pairs=(2, 4), interleaved=(False,), thetas=THETAS))
def test_half_split_pairs_across_the_halves(candidate, call):
    """by default channel i pairs with channel i + r / 2"""
    turns_right(candidate, call, pairing=True)


@behaviour(
    "R4",
    why="Weights are trained with one pairing. A result in another order of channels keeps every "
    "score between new tokens and breaks them against keys that are already cached.",
    ask="Where do the two halves of a pair stand in memory, and what would a kernel load?",
)
@example(Call(tokens([1, 0, 0, 0]), at(1), interleaved=True))
@example(Call(tokens([0, 0, 1, 0]), at(1), interleaved=True))
@given(calls(pairs=(2, 4), interleaved=(True,), thetas=THETAS))
def test_interleaved_pairs_neighbours(candidate, call):
    """with interleaved=True channel 2 i pairs with channel 2 i + 1"""
    turns_right(candidate, call, pairing=True)


@behaviour(
    "R2",
    why="Every layer turns its queries and keys by these angles. A turn the other way, or by "
    "another theta, is consistent with itself and agrees with no trained weight.",
    ask="Which tests of distances and lengths would a turn the other way pass?",
)
@example(Call(tokens([1, 0]), at(1)))
@example(Call(tokens([0, 1]), at(1)))
@example(Call(tokens([0, 1, 0, 0]), at(1), theta=100.0))
@example(Call(made("torch.ones(1, 3, 2, 128)"), at(1, 100)))
@given(calls(interleaved=(False,), thetas=THETAS))
def test_a_pair_turns_by_position_times_frequency(candidate, call):
    """pair i turns by position times theta ** (-2 i / r), from a towards b"""
    turns_right(candidate, call)


@invariant(
    "R2",
    why="The first token of a text is where most heads look. If position 0 already turns, the "
    "cache of one server cannot be read by another.",
    ask="What does a table of sines hold in its first row?",
)
@example(Call(tokens([1, 0]), at(0)), 0)
@given(calls(dtypes=(torch.float32, *HALVES), rest=(0, 1), interleaved=(False,)), st.integers(0, 3))
def test_position_zero_changes_nothing(candidate, call, place):
    """position 0 changes nothing"""
    where = call.positions.clone()
    where[..., place % where.shape[-1]] = 0
    call = replace(call, positions=where)
    reply = candidate.attempt("apply_rope", call.x, call.positions, **call.options())
    still = (where == 0).expand(len(call.x), -1)[:, None, :, None].expand(call.x.shape)
    got, wanted = values(reply, call), call.x
    close(got[still], wanted[still], 0.0, what="the tokens at position 0 as they were", at=reply)


@invariant(
    "R2",
    why="A pair that grows or shrinks with its position makes far tokens louder or fainter than "
    "near ones, and the softmax follows the loudest.",
    ask="Which lines write a channel that a later line reads again?",
)
@example(2, 0, (1.0, 0.0), 1, False, 10000.0)
@example(2, 0, (0.0, 1.0), 1, True, 10000.0)
@given(st.integers(1, 4), st.integers(0, 3),
       st.tuples(*[st.sampled_from([1.0, 0.0, -1.0, 2.0, 0.5])] * 2), st.integers(0, FAR),
       st.booleans(), st.sampled_from(THETAS))  # fmt: skip
def test_pair_lengths_are_kept(candidate, pairs, pair, values, position, interleaved, theta):
    """turning keeps the length of a pair"""
    pair %= pairs
    places = (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + pairs)
    x = torch.zeros(1, 1, 1, 2 * pairs)
    x[..., places] = torch.tensor(values)
    call = Call(x, at(position), theta, interleaved)
    reply = candidate.attempt("apply_rope", x, call.positions, **call.options())
    got = result(reply, call).double().norm()
    wanted = torch.tensor(math.hypot(*values), dtype=torch.float64)
    close(got, wanted, FEW * EPS32 * wanted, what="a vector as long as before", at=reply)


# Distances, chunks, positions


def pair_of_tokens(most: int) -> Any:
    """Two tokens of up to three pairs, and the options that they share."""
    return calls(batch=(1, 1), heads=(1, 1), length=(2, 2), most=most, per_row=(False,))


@invariant(
    "R2",
    why="Attention is to see how far apart two tokens are, not where the text happens to begin. "
    "Where that fails, a cached prefix gives other scores than the one it was computed for.",
    ask="What must be true of two turns for their product to depend on the difference alone?",
)
@example(Call(tokens([1, 0], [1, 0]), at(0, 1)), 2047)
@example(Call(tokens([1, 0], [1, 0]), at(0, 1)), FAR)
@given(pair_of_tokens(FAR // 2), st.integers(0, FAR))
def test_a_score_depends_on_the_distance_alone(candidate, call, shift):
    """the score of two tokens depends on the distance of their positions alone"""
    moved = replace(call, positions=call.positions + shift)
    program = candidate.program()
    near, far = call.of(program), moved.of(program)
    program.run()
    scores = [(out[0, 0, 0] * out[0, 0, 1]).sum()
              for out in (result(near, call).double(), result(far, moved).double())]  # fmt: skip
    size = call.x.double().norm(dim=-1).prod()
    angles = float(call.positions.double().abs().max() + shift)
    allowed = size * EPS32 * (4 * FEW + 64 * angles)
    if abs(scores[0] - scores[1]) > allowed:
        raise Broke(
            f"the score {float(scores[0]):.6g} of positions {call.positions.tolist()} "
            f"at {moved.positions.tolist()} too",
            f"{float(scores[1]):.6g}",
            at=far,
            also=[near],
        )


@invariant(
    "R2",
    why="A cached key is moved by turning it once more. If two turns are not one by the sum, a "
    "shifted cache is wrong by a little more after each shift.",
    ask="What does a server that drops the oldest tokens have to do to the keys it keeps?",
)
@example(Call(tokens([1, 0]), at(1)), 1)
@example(Call(tokens([1, 0]), at(1)), 2047)
@given(calls(batch=(1, 1), length=(1, 3), most=FAR // 2, interleaved=(False,)), st.integers(0, FAR))
def test_turning_twice_adds_the_positions(candidate, call, more):
    """turning twice is turning once by the sum of the positions"""
    reply = candidate.attempt("apply_rope", call.x, call.positions, **call.options())
    once = result(reply, call)
    again = replace(call, x=once, positions=torch.full_like(call.positions, more))
    both = replace(call, positions=call.positions + more)
    program = candidate.program()
    twice, summed = again.of(program), both.of(program)
    program.run()
    wanted = answer(both)
    allowed = 4 * (few_roundings(wanted, torch.float32) + fp32_angles(wanted))
    close(result(twice, again), result(summed, both), allowed,
          what="what one turn by the sum gives", at=twice, also=[summed])  # fmt: skip


@invariant(
    "R6",
    why="A prompt is computed in chunks, and decoding is a chunk of one. A chunk that starts at "
    "position 0 again puts its keys where others already are.",
    ask="What does a decoding step have to tell this function that a prompt does not?",
)
@example(Call(tokens([1, 0], [1, 0]), at(0, 1)), 1)
@example(Call(tokens([1, 0], [1, 0], [1, 0]), at(5, 6, 7)), 1)
@given(calls(length=(2, 5), most=FAR), st.integers(1, 4))
def test_a_chunk_equals_its_part_of_the_whole(candidate, call, cut):
    """a chunk with its own positions gives its part of the whole"""
    cut = min(cut, call.x.shape[2] - 1)
    chunk = replace(call, x=call.x[:, :, cut:].clone(), positions=call.positions[..., cut:].clone())
    program = candidate.program()
    whole, part = call.of(program), chunk.of(program)
    program.run()
    wanted = answer(chunk)
    allowed = 2 * (few_roundings(wanted, torch.float32) + fp32_angles(wanted))
    close(result(part, chunk), result(whole, call)[:, :, cut:], allowed,
          what=f"what the whole gives from token {cut} on", at=part, also=[whole])  # fmt: skip


@behaviour(
    "R6",
    why="Packed prompts, tree drafts and dropped tokens give positions that do not count up by "
    "one. Read as an offset, the first of them places all the others wrongly.",
    ask="Where in a serving engine are the positions of a step not consecutive?",
)
@example(Call(tokens([1, 0], [1, 0]), at(1, 0)))
@example(Call(tokens([1, 0], [1, 0]), at(0, 2)))
@example(Call(tokens([1, 0], [1, 0]), at(3, 3)))
@given(calls(length=(2, 6), per_row=(False,), interleaved=(False,)))
def test_positions_come_in_any_order(candidate, call):
    """positions come in any order, with gaps and repeats"""
    turns_right(candidate, call)


@behaviour(
    "R6",
    why="Requests in a batch stand at different lengths. With the first one's positions all "
    "others are encoded somewhere else in their text.",
    ask="Which axis of the angles is the batch's, and which the heads'?",
)
@example(Call(torch.tensor([[[[1.0, 0.0]]]] * 2), at([0], [1])))
@example(Call(torch.tensor([[[[1.0, 0.0]]] * 2] * 2), at([0], [1])))
@example(Call(torch.tensor([[[[1.0, 0.0]] * 2] * 2] * 2), at([0, 1], [2, 3])))
@given(calls(batch=(2, 3), heads=(1, 3), per_row=(True,), interleaved=(False,)))
def test_each_row_turns_by_its_own_positions(candidate, call):
    """with [B, T] positions each row turns by its own"""
    turns_right(candidate, call)


@behaviour(
    "R6",
    why="With as many heads as tokens, angles on the wrong axis broadcast without an error. That "
    "happens on some prompts and not on others.",
    ask="For which sizes would this code run on a [B, T, H, D] layout by mistake?",
)
@example(Call(torch.tensor([[[[1.0, 0.0]] * 2] * 2]), at(0, 1)))
@given(st.integers(2, 4).flatmap(
    lambda n: calls(batch=(1, n), heads=(n, n), length=(n, n), pairs=(1, n), per_row=(False,),
                    interleaved=(False,))
))  # fmt: skip
def test_all_heads_share_the_positions(candidate, call):
    """all heads share the positions, as many heads as tokens too"""
    turns_right(candidate, call)


@edge(
    "R6",
    why="Engines keep positions in int32, and small tests in less. A table indexed by uint8 is a "
    "mask in torch, and arithmetic in int8 wraps at 128.",
    ask="At which line do the positions leave their own dtype?",
    examples=0.5,
)
@example(Call(tokens([1, 0], [1, 0]), at(1, 0)), torch.uint8)
@example(Call(tokens([1, 0]), at(100)), torch.int8)
@example(Call(tokens([1, 0]), at(200)), torch.uint8)
@example(Call(tokens([1, 0]), at(30000)), torch.int16)
@given(
    calls(most=10**6, interleaved=(False,)),
    st.sampled_from([torch.int32, torch.int16, torch.int8, torch.uint8]),
)
def test_any_integer_dtype_holds_positions(candidate, call, dtype):
    """positions of any integer dtype mean the same"""
    turns_right(candidate, replace(call, positions=held(call.positions, dtype)))


def held(where: Tensor, dtype: torch.dtype) -> Tensor:
    """Positions brought into the range of a dtype."""
    return (where % (torch.iinfo(dtype).max + 1)).to(dtype)


# Channels that do not turn


@behaviour(
    "R5",
    why="Models that turn a part of the head were trained with the frequencies of that part. The "
    "whole head's turn its pairs too slowly, and far tokens look near.",
    ask="Which two sizes does rotary_dim replace?",
)
@example(Call(tokens([0, 1, 0, 0, 0, 0, 0, 0]), at(10), rotary_dim=4))
@example(Call(tokens([1, 0, 0, 0]), at(1), rotary_dim=2))
@example(Call(tokens([0, 0, 0, 1]), at(1), rotary_dim=2))
@example(Call(tokens([1, 0, 0, 0]), at(1), interleaved=True, rotary_dim=4))
@given(calls(rest=(1, 2), thetas=THETAS))
def test_the_first_channels_turn_as_a_head_of_their_own(candidate, call):
    """with rotary_dim the first r channels turn as a head of r channels would"""
    turns_right(candidate, call, pairing=True)


UNKIND = (math.nan, math.inf, -math.inf, -0.0, 0.1, 6e-8, 65504.0, 0.0)


@invariant(
    "R5",
    why="What does not turn carries content and not place. One more rounding of it a layer is "
    "noise that nobody trained with, and 0 times infinity is NaN.",
    ask="Which operations reach the channels that are not to change?",
)
@example(Call(tokens([1, 0, 0, 0]), at(1), rotary_dim=2), [0, 0, 0, 0], torch.float32)
@example(Call(tokens([1, 0, 0, 0]), at(1), rotary_dim=2), [4, 4, 0, 0], torch.float32)
@example(Call(tokens([1, 0, 0, 0]), at(1), rotary_dim=2), [4, 4, 0, 0], torch.float64)
@example(Call(tokens([1, 0, 0, 0]), at(1), rotary_dim=2), [1, 1, 0, 0], torch.float16)
@given(calls(pairs=(1, 2), rest=(1, 2), most=20),
       st.lists(st.integers(0, 9), min_size=4, max_size=4),
       st.sampled_from([torch.float32, torch.float64, *HALVES]))  # fmt: skip
def test_channels_past_rotary_dim_come_back_bit_for_bit(candidate, call, unkind, dtype):
    """channels from rotary_dim on come back bit for bit"""
    r, x = call.turning, call.x.to(dtype)
    for place, choice in zip(range(r, x.shape[-1]), unkind, strict=False):
        if choice < len(UNKIND):
            x[..., place] = UNKIND[choice]
    call = replace(call, x=x)
    reply = candidate.attempt("apply_rope", x, call.positions, **call.options())
    rest = values(reply, call)[..., r:]
    same = same_bits(rest, x[..., r:])
    if not same.all():
        worst = tuple(int(i) for i in (~same).nonzero()[0])
        wanted, got = float(x[..., r:][worst]), float(rest[worst])
        place = (*worst[:3], worst[3] + r)
        raise Broke(
            f"channels from {r} on as they were",
            f"{int((~same).sum())} of {same.numel()} of them differ; at {place}: "
            f"wanted {wanted:.9g}, got {got:.9g}",
            at=reply,
        )


# How exact


@behaviour(
    "R7",
    why="Contexts of a million tokens exist. With an angle that is off by a hundredth, the heads "
    "that copy from far back miss their token, and only the longest requests get worse.",
    ask="How many digits of the angle are left in each dtype after the whole turns are taken off?",
)
@example(Call(tokens([0, 1, 0, 0]), at(1)), 0)
@example(Call(tokens([1, 0]), at(1)), 17)
@example(Call(tokens([0, 1, 0, 0]), at(1), theta=500000.0), 0)
@example(Call(made("torch.ones(1, 1, 2, 128)"), at(1, 2**19 + 1)), 1)
@given(calls(pairs=(1, 6), most=10**6, thetas=THETAS,
             dtypes=(torch.float32, torch.float32, *HALVES)),
       st.integers(0, 10**5))  # fmt: skip
def test_position_one_million_is_as_exact_as_position_one(candidate, call, below):
    """at any position up to one million the result is a few roundings from the exact one"""
    far = call.positions.clone()
    far[..., 0] = 10**6 - below
    call = replace(call, positions=far)
    turns_right(candidate, call, allow=few_roundings)


@behaviour(
    "R8",
    why="bf16 keeps 8 bits. Sines, products or positions rounded to it as well cost a bit or two "
    "in each layer, and above 256 it cannot tell neighbouring positions apart.",
    ask="Which tensors here are large, and which are small enough to be kept exact?",
)
@example(Call(tokens([1, 0], dtype=torch.bfloat16), at(257)))
@example(Call(tokens([3.5, 1.625], dtype=torch.float16), at(1)))
@given(calls(heads=(1, 3), length=(1, 4), dtypes=HALVES, pairs=(1, 4), most=300))
def test_half_precision_is_rounded_once(candidate, call):
    """fp16 and bf16 are computed in fp32 or better and rounded once"""
    if call.x.dtype == torch.float16:
        call = replace(call, positions=call.positions % 32)  # an fp32 angle is exact enough here
    turns_right(candidate, call, allow=one_rounding)


@edge(
    "R7",
    why="fp64 is what a port is checked with. If it is only fp32 inside, two right "
    "implementations seem to differ and the search for the reason costs a day.",
    ask="Which dtype does each line compute in when x is fp64?",
    examples=0.5,
)
@example(Call(tokens([0.7, 0.1], dtype=torch.float64), at(1)))
@given(calls(dtypes=(torch.float64,), most=1000, interleaved=(False,)))
def test_float64_keeps_its_digits(candidate, call):
    """fp64 input is computed in fp64"""
    turns_right(candidate, call, allow=few_roundings)


# What is refused, and corners

X = torch.ones(2, 3, 4, 6)
WRONG_POSITIONS = (  # for x of [2, 3, 4, 6]
    torch.arange(3),
    torch.arange(1),
    torch.tensor(1),
    torch.arange(4)[None],
    torch.arange(4)[:, None],
    torch.arange(2)[:, None],
    torch.arange(8).reshape(4, 2),
    torch.arange(12).reshape(3, 4),
    torch.arange(8).reshape(1, 2, 4),
)


def refusals() -> Any:
    """Calls that are to be refused: a name, its arguments and options."""
    for size in (3, 1, -2, -1):
        yield "rope_frequencies", (size,), {}
    for x in (X[0], X[None], X[0, 0], X[..., :5]):
        yield "apply_rope", (x, torch.arange(4)), {}
    for size in (3, 8, 7, -2, -1):
        for interleaved in ({}, {"interleaved": True}):
            yield "apply_rope", (X, torch.arange(4)), {"rotary_dim": size, **interleaved}
    for where in WRONG_POSITIONS:
        yield "apply_rope", (X, where), {}


@edge(
    "R9",
    why="A shape that is off is a bug of the caller. Broadcast in silence, one position goes to "
    "every token, and nothing fails before somebody reads the text.",
    ask="Which of these would torch have spread over a dimension without a word?",
)
def test_arguments_that_do_not_fit_are_refused(candidate):
    """sizes and shapes that do not fit are a ValueError, where torch would broadcast too"""
    for name, arguments, options in refusals():
        candidate.begin_example()
        refused(candidate.attempt(name, *arguments, **options), "ValueError")


@edge(
    "R10",
    why="An engine's step may have no token for a layer, and the smallest head has one pair. Code "
    "that asks for the largest position, or drops axes of size one, fails on them.",
    ask="What do the sizes 0 and 1 do to each line?",
    examples=0.5,
)
@example(Call(torch.ones(1, 1, 0, 2), at()))
@example(Call(torch.ones(2, 1, 0, 4), torch.zeros(2, 0, dtype=torch.int64)))
@example(Call(torch.ones(2, 3, 4, 2), at(0, 1, 2, 3)))
@example(Call(torch.ones(2, 2, 1, 2), at([1], [2])))
@given(calls(length=(0, 1), pairs=(1, 2), interleaved=(False,)) | calls(pairs=(1, 1)))
def test_no_tokens_and_a_single_pair(candidate, call):
    """no tokens give no tokens, and one pair turns like many"""
    turns_right(candidate, call)


def heads_last(x: Tensor) -> Tensor:
    """Laid out as a projection leaves it: tokens before heads."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def strided(call: Call, layout: Any) -> Call:
    """The same numbers in another layout; positions never dense."""
    return replace(call, x=layout(call.x), positions=sliced(call.positions))


@edge(
    "R10",
    why="Queries arrive as a transposed view of a projection. Code that needs them dense either "
    "fails in the model or reads other numbers.",
    ask="Which of these operations need a contiguous tensor, and which copy to get one?",
    examples=0.5,
)
@example(Call(torch.ones(1, 2, 2, 2), at(0, 1)), heads_last)
@example(Call(torch.ones(2, 1, 3, 2), at([0, 1, 2], [3, 4, 5])), transposed)
@given(calls(interleaved=(False,)), st.sampled_from([heads_last, sliced, transposed, expanded]))
def test_strided_arguments_are_read_where_they_lie(candidate, call, layout):
    """x and positions may be non-contiguous"""
    turns_right(candidate, strided(call, layout))


@invariant(
    "R10",
    why="The same x feeds the residual and the next projection. Turned in place, it is turned "
    "once more by whoever reads it next.",
    ask="Which of these operations write into memory that the caller holds?",
    examples=0.5,
    arguments=True,
)
@example(Call(tokens([1, 0]), at(1)))
@given(calls(rest=(0, 1), dtypes=(torch.float32, torch.float64, *HALVES)))
def test_arguments_stay_as_they_were(candidate, call):
    """a call leaves x and positions as they were"""
    reply = candidate.attempt("apply_rope", call.x, call.positions, **call.options())
    result(reply, call)


@invariant(
    "R10",
    why="A table that is kept for the wrong key serves one model's angles to another, or the last "
    "chunk's to this one. It shows in the second request, never in the first.",
    ask="What does a kept table depend on, and is all of it in its key?",
    examples=0.15,  # two fresh processes each
)
@example(Call(tokens([1, 0]), at(1)), Call(tokens([1, 0]), at(2)))
@example(Call(tokens([0, 1, 0, 0]), at(9)), Call(tokens([0, 1, 0, 0]), at(9), theta=100.0))
@example(Call(tokens([1, 0]), at(1)), Call(tokens([1, 0], dtype=torch.float64), at(1)))
@given(*[calls(batch=(1, 1), heads=(1, 1), length=(1, 2), pairs=(1, 2), rest=(0, 1), thetas=THETAS,
               dtypes=(torch.float32, torch.float64, torch.bfloat16))] * 2)  # fmt: skip
def test_earlier_calls_leave_no_trace(candidate, earlier, call):
    """a call returns what it returns in a fresh process, whatever was called before"""
    candidate.restart()
    fresh = result(candidate.attempt("apply_rope", call.x, call.positions, **call.options()), call)
    candidate.restart()
    program = candidate.program()
    before, after = earlier.of(program), call.of(program)
    program.run()
    wanted = answer(call)
    allowed = few_roundings(wanted, call.x.dtype)
    close(result(after, call), fresh, allowed, at=after, also=[before],
          what="what the second call returns in a fresh process")  # fmt: skip
