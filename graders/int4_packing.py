"""What four-bit packing and quantization must hold.

One fault is to break one check. Bytes are compared with fixed ones where they are the claim;
elsewhere the candidate's own pack, unpack and dequantize stand for them. Half a step is asked for
where rounding is the claim, a whole one where a group is unkind, and groups are kind, with weights
of either sign, where nothing else is said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from harness.suite import Broke, Reply, behaviour, edge, equal, invariant, refused
from harness.suite.layouts import sliced, transposed
from harness.suite.script import show
from harness.suite.tolerance import close, tensor, ulp

RECORDS = {"quantize": ("packed", "scales", "zeros")}

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
EPS32 = torch.finfo(torch.float32).eps
HALF = 0.5
ALONE = {"rows": (1, 1), "groups": (1, 1)}


# Packing: codes and bytes


def bytes_of(codes: Tensor) -> Tensor:
    """The bytes of whole codes, one at a time."""
    shape = (*codes.shape[:-1], (codes.shape[-1] + 1) // 2)
    packed = []
    for codes_of_row in codes.flatten(0, -2).tolist() if codes.dim() > 1 else [codes.tolist()]:
        pairs = [*map(int, codes_of_row), 0][: 2 * shape[-1]]
        packed += [low + 16 * high for low, high in zip(pairs[::2], pairs[1::2], strict=True)]
    return torch.tensor(packed, dtype=torch.uint8).reshape(shape)


def codes_of(packed: Tensor, n: int) -> Tensor:
    """The first n codes of rows of bytes."""
    both = torch.stack((packed.long() % 16, packed.long() // 16), dim=-1)
    return both.flatten(-2)[..., :n]


def is_exactly(reply: Reply, wanted: Tensor, what: str) -> None:
    """Break unless an answer is these whole numbers, as uint8."""
    got = tensor(reply.value, shape=wanted.shape, dtype=torch.uint8, what=what, at=reply)
    wrong = got != wanted.to(torch.uint8)
    if wrong.any():
        place = tuple(int(i) for i in wrong.nonzero()[0])
        raise Broke(
            f"{what} {show(wanted.to(torch.uint8))}",
            f"{int(wrong.sum())} of {got.numel()} differ; first at {place}: wanted "
            f"{_in_hex(wanted[place], what)}, got {_in_hex(got[place], what)}",
            at=reply,
        )


def _in_hex(value: Tensor, what: str) -> str:
    return f"{int(value):#04x}" if what == "bytes" else str(int(value))


def bytes_if(value: Any, like: Tensor) -> Tensor:
    """An answer, if it is bytes of this shape; that tensor otherwise."""
    fits = isinstance(value, Tensor) and value.dtype == torch.uint8 and value.shape == like.shape
    return value if fits else like


@st.composite
def codes(draw: Any, *, most: int = 8, odd: bool = False, dtypes: Any = (torch.int64,)) -> Tensor:
    """[..., N] codes of one to three dimensions, an even number of them in a row, or an odd one."""
    length = 2 * draw(st.integers(1, most // 2)) - odd
    shape = (*draw(st.lists(st.integers(1, 3), max_size=2)), length)
    size = math.prod(shape)
    chosen = draw(st.lists(st.integers(0, 15), min_size=size, max_size=size))
    return torch.tensor(chosen, dtype=draw(st.sampled_from(dtypes))).reshape(shape)


@st.composite
def some_bytes(draw: Any) -> Tensor:
    """[..., N / 2] bytes, at least one in a row."""
    shape = (*draw(st.lists(st.integers(1, 3), max_size=2)), draw(st.integers(1, 5)))
    size = math.prod(shape)
    raw = draw(st.lists(st.integers(0, 255), min_size=size, max_size=size))
    return torch.tensor(raw, dtype=torch.uint8).reshape(shape)


def row(*values: Any, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.tensor(list(values), dtype=dtype)


@behaviour(
    "R1",
    why="Bytes are what other kernels and other engines read. Packed another way a round trip "
    "still holds, and the model is noise in every engine but this one.",
    ask="How would a test with round trips alone miss a wrong order?",
)
@example(row(1, 2))
@example(row(1, 2, 3, 4))
@example(torch.tensor([[15, 0], [0, 15], [9, 6]]))
@given(codes())
def test_known_codes_pack_to_known_bytes(candidate, chosen):
    """the code at an even index is in the low four bits, the next one in the high four"""
    is_exactly(candidate.attempt("pack", chosen), bytes_of(chosen), "bytes")


@behaviour(
    "R2",
    why="Checkpoints come packed by somebody else. One bit read wrongly moves a weight by up to "
    "half the range of its group.",
    ask="What does a shift to the right do to the top bit, in each dtype?",
)
@example(row(0x21, dtype=torch.uint8))
@example(row(0x80, 0xF7, dtype=torch.uint8))
@example(torch.tensor([[0x21, 0x43], [0x65, 0x87]], dtype=torch.uint8))
@given(some_bytes())
def test_known_bytes_unpack_to_known_codes(candidate, packed):
    """unpack gives the low four bits of a byte, then the high four"""
    n = 2 * packed.shape[-1]
    is_exactly(candidate.attempt("unpack", packed, n), codes_of(packed, n), "codes")


EVERY_PAIR = torch.cartesian_prod(torch.arange(16), torch.arange(16)).flatten()


@invariant(
    "R2",
    why="Packing is the part that has to lose nothing. A code that comes back as another is an "
    "error that no better quantizer repairs.",
    ask="How many different bytes are there, and how many does the test see?",
    examples=0.5,
)
@example(row(0, 8))
@example(EVERY_PAIR)
@example(EVERY_PAIR.reshape(4, 128))
@given(codes(most=34))
def test_every_pair_of_codes_survives(candidate, chosen):
    """unpack gives back what was packed, for every pair of codes"""
    packed = candidate.attempt("pack", chosen)
    shape = [*chosen.shape[:-1], (chosen.shape[-1] + 1) // 2]
    value = tensor(packed.value, shape=shape, dtype=torch.uint8, what="bytes", at=packed)
    is_exactly(candidate.attempt("unpack", value, chosen.shape[-1]), chosen, "codes")


@behaviour(
    "R1",
    why="Rows are handed to different devices and kernels. A row that begins in the middle of a "
    "byte cannot be addressed, and a lost last code is a lost column.",
    ask="Where does the second row begin when a row has five codes?",
)
@example(row(1, 2, 3))
@example(row(15))
@example(torch.tensor([[1, 2, 3], [4, 5, 6]]))
@given(codes(odd=True))
def test_an_odd_row_ends_in_a_byte_of_its_own(candidate, chosen):
    """the last code of an odd row has a byte of its own, its high bits 0"""
    is_exactly(candidate.attempt("pack", chosen), bytes_of(chosen), "bytes")


@edge(
    "R2",
    why="Other packers leave anything in a half byte that nobody uses. Read as a code it is a "
    "weight too many; refused, it is a checkpoint that does not load.",
    ask="Who decides how many codes a row has?",
    examples=0.5,
)
@example(row(0xF1, dtype=torch.uint8))
@example(torch.tensor([[0x21, 0xA3], [0x43, 0x05]], dtype=torch.uint8))
@given(some_bytes())
def test_what_stands_in_a_spare_nibble_does_not_matter(candidate, packed):
    """unpack gives n codes, whatever stands in a spare half byte"""
    n = 2 * packed.shape[-1] - 1
    is_exactly(candidate.attempt("unpack", packed, n), codes_of(packed, n), "codes")


@edge(
    "R1",
    why="Codes leave a quantizer as floats or as int32, and a cache as bytes. One that works for "
    "one dtype alone fails at the first other caller.",
    ask="In which dtype are the four bits moved, and what do the others do there?",
    examples=0.5,
)
@example(row(1, 2, dtype=torch.float32))
@example(row(7, 15, dtype=torch.int8))
@example(row(1, 2, 15, 0, dtype=torch.float64))
@given(codes(dtypes=(*INTEGERS, *FLOATS, torch.float64)))
def test_codes_of_any_dtype_pack_alike(candidate, chosen):
    """codes of any integer or floating dtype pack to the same bytes"""
    as_int32 = candidate.attempt("pack", chosen.int()).value
    is_exactly(candidate.attempt("pack", chosen), bytes_if(as_int32, bytes_of(chosen)), "bytes")


@edge(
    "R1",
    why="A shard may have no columns. Code that asks for the largest code first fails there and "
    "nowhere else.",
    ask="Which reductions have no answer for no elements?",
)
def test_no_codes_are_no_bytes(candidate):
    """no codes pack to no bytes, and back"""
    for chosen in (row(), torch.zeros(3, 0, dtype=torch.int32), torch.zeros(2, 0)):
        candidate.begin_example()
        is_exactly(candidate.attempt("pack", chosen), bytes_of(chosen), "bytes")
        candidate.begin_example()
        packed = torch.zeros(chosen.shape, dtype=torch.uint8)
        is_exactly(candidate.attempt("unpack", packed, 0), chosen, "codes")


NOT_CODES = (
    row(16), row(-1), row(3, 17), row(255), row(256), row(1, 2, 260), row(2**31), row(2**40 + 3),
    row(-16), row(-256), row(16, dtype=torch.uint8), row(0, 200, dtype=torch.uint8),
    row(-1, dtype=torch.int8), row(20, dtype=torch.int16), row(-128, dtype=torch.int8),
    row(2.5, dtype=torch.float32), row(0.5, 3, dtype=torch.float16), row(-0.5, dtype=torch.float32),
    row(15.5, dtype=torch.bfloat16), row(16.0, dtype=torch.float32), row(-1, dtype=torch.float32),
    row(1, math.nan, dtype=torch.float32), row(math.inf, dtype=torch.float32),
    row(-math.inf, 2, dtype=torch.float16), row(256, dtype=torch.float32),
    row(1e30, dtype=torch.float32), row(1e-9, dtype=torch.float64), row(2**32), row(-(2**32) + 1),
    row(3 + 1e-9, dtype=torch.float64),
)  # fmt: skip


@edge(
    "R3",
    why="A code of 16 becomes 0, or a bit in its neighbour. Nothing fails; two weights are wrong "
    "in one byte of a gigabyte.",
    ask="What is left to be seen of a bad code once it is a byte?",
)
def test_codes_that_are_not_four_bits_are_refused(candidate):
    """a code that is out of range, NaN or not whole is a ValueError"""
    for chosen in NOT_CODES:
        candidate.begin_example()
        refused(candidate.attempt("pack", chosen), "ValueError")


@edge(
    "R3",
    why="A wrong shape in a checkpoint is found here or nowhere. Fewer codes than asked for shift "
    "every later weight of the row.",
    ask="What does a slice past the end do in Python, and what in a kernel?",
)
def test_a_count_the_bytes_do_not_hold_is_refused(candidate):
    """an n that is negative or above what the bytes hold is a ValueError"""
    for packed, n in (
        (row(0x21, dtype=torch.uint8), 3),
        (row(0x21, dtype=torch.uint8), -1),
        (row(0x21, 0x43, dtype=torch.uint8), -3),
        (torch.zeros(3, 2, dtype=torch.uint8), 5),
        (torch.zeros(3, 2, dtype=torch.uint8), 12),
        (torch.zeros(3, 0, dtype=torch.uint8), 1),
        (row(0x21, dtype=torch.uint8), -2),
    ):
        candidate.begin_example()
        refused(candidate.attempt("unpack", packed, n), "ValueError")


# dequantize, on parts that are given


@dataclass(frozen=True, slots=True)
class Parts:
    """What dequantize is called with, made of codes [O, I]."""

    codes: Tensor
    scales: Tensor  # [O, I / g]
    zeros: Tensor  # [O, I / g]
    group_size: int

    def weights(self) -> Tensor:
        """(code - zero) * scale in float64, one group at a time."""
        g, out = self.group_size, torch.zeros(self.codes.shape, dtype=torch.float64)
        for group in range(self.scales.shape[1]):
            part = slice(group * g, (group + 1) * g)
            distance = self.codes[:, part].double() - self.zeros[:, group, None].double()
            out[:, part] = distance * self.scales[:, group, None].double()
        return out

    def check(self, candidate: Any, *, layout: Any = lambda packed: packed) -> None:
        """What dequantize gives for these codes as the candidate packs them."""
        packing = candidate.attempt("pack", self.codes)
        rows, n = self.codes.shape
        packed = tensor(packing.value, shape=[rows, (n + 1) // 2], dtype=torch.uint8, what="bytes",
                        at=packing)  # fmt: skip
        reply = candidate.attempt(
            "dequantize", layout(packed), self.scales, self.zeros, self.group_size
        )
        wanted, dtype = self.weights(), self.scales.dtype
        got = tensor(reply.value, shape=wanted.shape, dtype=dtype, what="weights", at=reply)
        scale = self.scales.double().repeat_interleave(self.group_size, dim=1)
        # code * scale and zero * scale may each be rounded, in fp32
        in_fp32 = 32 * EPS32 * scale
        rounding = 0 if dtype == torch.float32 else ulp(wanted, dtype) / 2
        close(got, wanted, in_fp32 + rounding, at=reply)


@st.composite
def parts(draw: Any, *, dtypes: Any = (torch.float32,), zero_dtypes: Any = (torch.uint8,),
          scales: Any = (1.0, 0.5, 2.0, 0.25, 3.0, 0.1, 0.03, 7.7),
          rows: Any = (1, 3), groups: Any = (1, 3), sizes: Any = (1, 5)) -> Parts:  # fmt: skip
    """Parts with zero points from 0 to 15, these two most often; an even number of columns."""
    o, n, g = (draw(st.integers(*bounds)) for bounds in (rows, groups, sizes))
    g += n * g % 2

    def numbers(strategy: Any, count: int) -> Any:
        return draw(st.lists(strategy, min_size=count, max_size=count))

    chosen = torch.tensor(numbers(st.integers(0, 15), o * n * g)).reshape(o, n * g)
    steps = torch.tensor(numbers(st.sampled_from(scales), o * n), dtype=torch.float64)
    zeros = torch.tensor(numbers(st.sampled_from([0, 15, *range(1, 15)]), o * n))
    dtype, zero_dtype = draw(st.sampled_from(dtypes)), draw(st.sampled_from(zero_dtypes))
    return Parts(chosen, steps.reshape(o, n).to(dtype), zeros.reshape(o, n).to(zero_dtype), g)


def one_row(chosen: Any, scales: Any, zeros: Any, *, dtype: torch.dtype = torch.float32,
            zero_dtype: torch.dtype = torch.int32) -> Parts:  # fmt: skip
    group_size = len(chosen) // len(scales)
    return Parts(torch.tensor([chosen]), torch.tensor([scales], dtype=dtype),
                 torch.tensor([zeros], dtype=zero_dtype), group_size)  # fmt: skip


@behaviour(
    "R5",
    why="The checkpoint's zero point and scale mean one formula. Off by one, every weight of a "
    "layer is shifted by a step, and the model still answers, worse.",
    ask="Which formats store the zero point one lower, and how would a loader know?",
)
@example(one_row([0, 15], [1.0], [0]))
@example(one_row([0, 15], [1.0], [15]))
@example(one_row([3, 9], [0.5], [5]))
@example(one_row([1, 1, 1, 1], [1.0, 2.0], [0, 0]))
@given(parts(zero_dtypes=(torch.int32,)))
def test_dequantize_is_code_minus_zero_times_scale(candidate, made):
    """dequantize gives (code - zero) * scale, zero points 0 and 15 included"""
    made.check(candidate)


@behaviour(
    "R5",
    why="The weights are read by a matmul in half precision. An extra rounding on the way costs "
    "more than the choice of a better scale won.",
    ask="In which dtype is each intermediate, and where is it rounded?",
)
@example(one_row([14, 3], [0.1], [3], dtype=torch.float16))
@example(one_row([14, 3], [0.1], [1], dtype=torch.bfloat16))
@example(one_row([14, 3], [0.1], [3], dtype=torch.float32))
@given(parts(dtypes=FLOATS, zero_dtypes=(torch.int32,), groups=(1, 1),
             scales=(0.1, 0.03, 7.7, 0.3, 1.7, 123.4, 0.0017)))  # fmt: skip
def test_dequantize_rounds_once(candidate, made):
    """dequantize gives the dtype of the scales, computed in fp32 and rounded once"""
    made.check(candidate)


@edge(
    "R5",
    why="Zero points are kept as bytes here and as floats there. Subtracted in uint8, 3 - 5 is "
    "254, and every weight below zero becomes the largest of its group.",
    ask="What dtype does code - zero have for each dtype of zero?",
    examples=0.5,
)
@example(one_row([3, 5], [1.0], [5], zero_dtype=torch.uint8))
@example(one_row([3, 5], [1.0], [5], zero_dtype=torch.float32))
@example(one_row([3, 5], [1.0], [5], zero_dtype=torch.float16, dtype=torch.bfloat16))
@given(parts(dtypes=FLOATS, zero_dtypes=(*INTEGERS, *FLOATS, torch.float64), groups=(1, 1)))
def test_zero_points_of_any_dtype_are_taken(candidate, made):
    """dequantize takes zero points in any dtype"""
    made.check(candidate)


# quantize: a matrix, and what comes back


@dataclass(frozen=True, slots=True)
class Matrix:
    """Weights [O, I] and the size of their groups."""

    w: Tensor
    group_size: int

    @property
    def grid(self) -> list[int]:
        return [self.w.shape[0], self.w.shape[1] // self.group_size]

    def range(self) -> Tensor:
        """The range of each group with 0 taken in, in float64."""
        groups = self.w.double().unflatten(1, (-1, self.group_size))
        return groups.amax(-1).clamp(min=0) - groups.amin(-1).clamp(max=0)

    def spread(self, of_groups: Tensor) -> Tensor:
        """A value of each group, for each of its weights."""
        return of_groups.repeat_interleave(self.group_size, dim=1)


@dataclass(frozen=True, slots=True)
class Quantized:
    """What quantize returned, looked at; and the reply that shows it."""

    packed: Tensor
    scales: Tensor
    zeros: Tensor
    reply: Reply


def quantize(candidate: Any, matrix: Matrix) -> Quantized:
    """The three parts, each of the kind and shape that the statement asks for."""
    reply = candidate.attempt("quantize", matrix.w, matrix.group_size)
    value = reply.value
    if not isinstance(value, (tuple, list)) or len(value) != 3:
        raise Broke("packed, scales and zeros", show(value), at=reply)
    packed, scales, zeros = value
    shape = [matrix.w.shape[0], (matrix.w.shape[1] + 1) // 2]
    packed = tensor(packed, shape=shape, dtype=torch.uint8, what="packed", at=reply)
    scales = tensor(scales, shape=matrix.grid, dtype=matrix.w.dtype, what="scales", at=reply)
    kind = zeros.dtype if isinstance(zeros, Tensor) else torch.uint8
    zeros = tensor(zeros, shape=matrix.grid, dtype=kind, what="zeros", at=reply)
    return Quantized(packed, scales, zeros, reply)


def restored(candidate: Any, matrix: Matrix, made: Quantized) -> tuple[Tensor, Reply]:
    """The weights as the candidate's own dequantize gives them."""
    reply = candidate.attempt("dequantize", made.packed, made.scales, made.zeros, matrix.group_size)
    shape, dtype = matrix.w.shape, matrix.w.dtype
    return tensor(reply.value, shape=shape, dtype=dtype, what="weights", at=reply), reply


def comes_back(candidate: Any, matrix: Matrix, *, steps: float = 1.0) -> Quantized:
    """Every weight within half a step of its group or a whole one, and rounding."""
    made = quantize(candidate, matrix)
    got, reply = restored(candidate, matrix, made)
    dtype = matrix.w.dtype
    step = torch.maximum(made.scales.double(), matrix.range() / 15)
    # the stored scale is off by half a gap for each of up to 15 steps; the rest is fp32 arithmetic
    off = steps * step + 8 * ulp(step, dtype) + 32 * EPS32 * step
    largest = matrix.w.double().abs() + matrix.spread(step)
    allowed = matrix.spread(off) + ulp(largest, dtype) / 2
    allowed = allowed.masked_fill(matrix.spread(matrix.range() == 0), 0.0)
    close(got, matrix.w, allowed, at=reply, also=[made.reply],
          what=f"every weight within {'half a' if steps == HALF else 'a'} step")  # fmt: skip
    return made


def no_wider(matrix: Matrix, made: Quantized) -> None:
    """Every stored scale at most the range over 14, and one rounding."""
    most, scales = matrix.range() / 14, made.scales.double()
    allowed = most + ulp(torch.maximum(most, scales), matrix.w.dtype)
    times = (scales / allowed).masked_fill(most == 0, 0.0)
    if not bool((times <= 1).all()):
        place = tuple(int(i) for i in torch.unravel_index(times.argmax(), times.shape))
        raise Broke(
            f"a scale of at most {float(most[place]):.4g}, the range over 14, for group {place}",
            f"{float(scales[place]):.4g}",
            at=made.reply,
        )


NUMBERS = (
    0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -0.25, 1.5, -3.0, 7.0, -5.0, 0.1, -0.7, 1.37, -2.9,
    4.44, 0.61, -1.83,
)  # fmt: skip


@st.composite
def matrices(draw: Any, *, dtypes: Any = (torch.float32,), rows: Any = (1, 3),
             groups: Any = (1, 3), sizes: Any = (2, 6), numbers: Any = NUMBERS,
             powers: Any = (0, 0, 3, -4), signs: Any = (),
             odd: bool = False) -> Matrix:  # fmt: skip
    """Weights; groups differ by powers of ten. Without `signs` each has weights of either sign.

    The number of columns is even, or odd.
    """
    o, n, g = (draw(st.integers(*bounds)) for bounds in (rows, groups, sizes))
    n, g = (n - 1 + n % 2, g - 1 + g % 2) if odd else (n, g + n * g % 2)
    count = o * n * g
    chosen = draw(st.lists(st.sampled_from(numbers), min_size=count, max_size=count))
    w = torch.tensor(chosen, dtype=torch.float64).reshape(o, n, g)
    power = draw(st.lists(st.sampled_from(powers), min_size=o * n, max_size=o * n))
    if signs:
        w = w.abs() * draw(st.sampled_from(signs))
    else:
        ends = w[..., :2].abs()
        ends = torch.where(ends == 0, abs(numbers[1]), ends) * torch.tensor([1.0, -1.0])
        w = torch.cat((ends, w[..., 2:]), dim=-1) * draw(st.sampled_from([1, -1]))
    w = w * 10.0 ** torch.tensor(power, dtype=torch.float64).reshape(o, n, 1)
    return Matrix(w.flatten(1).to(draw(st.sampled_from(dtypes))), g)


def one_group(*weights: float, dtype: torch.dtype = torch.float32) -> Matrix:
    return Matrix(torch.tensor([weights], dtype=dtype), len(weights))


@behaviour(
    "R4",
    why="A kernel takes three tensors of fixed kinds. Zero points that are not whole do not fit "
    "their four bits, and scales in fp32 double the cost of a small group.",
    ask="How many bits a weight does this format cost at groups of 32, scales included?",
)
@example(one_group(-1, 0, 2, 0.5))
@example(one_group(-1, 0, 2, 0.5, dtype=torch.float16))
@example(Matrix(torch.tensor([[1.0, -1.0, 5.0, 0.0], [0.0, 2.0, -7.0, 3.0]]), 2))
@given(matrices(dtypes=FLOATS, powers=(0, 2, -2)))
def test_quantize_returns_bytes_scales_and_whole_zero_points(candidate, matrix):
    """quantize returns packed codes, scales in the dtype of w, and whole zero points"""
    made = quantize(candidate, matrix)
    zeros, scales = made.zeros.double(), made.scales.double()
    if not bool(((zeros == zeros.round()) & (zeros >= 0) & (zeros <= 15)).all()):
        raise Broke("whole zero points from 0 to 15", show(made.zeros), at=made.reply)
    if not bool((scales.isfinite() & (scales >= 0)).all()):
        raise Broke("finite scales, none negative", show(made.scales), at=made.reply)
    got, reply = restored(candidate, matrix, made)
    codes_reply = candidate.attempt("unpack", made.packed, matrix.w.shape[1])
    kept = tensor(codes_reply.value, shape=matrix.w.shape, dtype=torch.uint8, what="codes",
                  at=codes_reply)  # fmt: skip
    wanted = Parts(kept, made.scales, made.zeros, matrix.group_size).weights()
    allowed = 32 * EPS32 * matrix.spread(scales) + ulp(wanted, matrix.w.dtype)
    close(got, wanted, allowed, at=reply, also=[made.reply, codes_reply],
          what="(code - zero) * scale of the codes in packed")  # fmt: skip


@invariant(
    "R6",
    why="Pruned weights and padded columns are exactly zero, and so are their products. If zero "
    "comes back as a little, a padded row adds noise to every output.",
    ask="Which code stands for zero, and what makes sure that there is one?",
)
@example(one_group(0, 1))
@example(one_group(0, -1, 2, 3))
@example(one_group(0, -0.7, 1.37, 1))
@given(matrices(dtypes=FLOATS, powers=(0, 2, -2)))
def test_zero_comes_back_as_zero(candidate, matrix):
    """a weight that is 0 comes back as 0"""
    w = matrix.w.clone()
    w[:, :: matrix.group_size] = 0
    matrix = replace(matrix, w=w)
    made = quantize(candidate, matrix)
    got, reply = restored(candidate, matrix, made)
    close(got[w == 0], w[w == 0], 0.0, at=reply, also=[made.reply],
          what="the weights that are 0 as 0")  # fmt: skip


@invariant(
    "R7",
    why="Half a step is what four bits can promise. A weight further off, most often the largest "
    "of its group, is noise on the weights that matter most.",
    ask="Where does an error of a whole step come from when each rounding is at most a half?",
    examples=1.5,
)
@example(one_group(-1, 0, 2, 0.5))
@example(one_group(-1, 1))
@example(one_group(2, -3, 7, 0))
@example(one_group(-0.7, 0.1, 1.37, 0.61))
@example(one_group(-1.83, 4.44, 0.75, -0.1, 2.9, 0.1, dtype=torch.float16))
@given(matrices(sizes=(2, 8), dtypes=(torch.float32, *FLOATS), powers=(0, 2, -2), **ALONE))
def test_every_weight_comes_back_within_half_a_step(candidate, matrix):
    """every weight comes back within half a step of its group, the ends included"""
    comes_back(candidate, matrix, steps=HALF)


@invariant(
    "R8",
    why="The step is the error. A scale that is a third wider than it has to be loses a third of "
    "a bit on every weight, and no test of half steps can see it.",
    ask="How much of the sixteen codes does a group with positive weights alone use?",
)
@example(one_group(-1, 14))
@example(one_group(-1, 1))
@example(one_group(-1, 0, 1, 2))
@given(matrices(dtypes=FLOATS, powers=(0, 2, -2), **ALONE))
def test_a_step_is_no_wider_than_the_range_over_14(candidate, matrix):
    """a scale is no wider than the range of its group, 0 taken in, over 14"""
    no_wider(matrix, quantize(candidate, matrix))


@invariant(
    "R9",
    why="Groups exist so that one large weight costs its neighbours alone. Where groups touch, an "
    "outlier in one column coarsens the whole row.",
    ask="Which axis do the ranges reduce over, and which weights does that put together?",
)
@example(Matrix(torch.tensor([[1.0, -0.3, 1.0, -0.6]]), 2), 0, 100.0)
@example(Matrix(torch.tensor([[1.0, -0.3], [1.0, -0.6]]), 2), 0, 100.0)
@given(matrices(groups=(1, 3), rows=(2, 3)), st.integers(0, 8),
       st.sampled_from([100.0, -1000.0, 3.3]))  # fmt: skip
def test_groups_do_not_touch(candidate, matrix, group, value):
    """what a group comes back as depends on its own weights alone"""
    o, n = matrix.grid
    group %= o * n
    w = matrix.w.clone()
    w.unflatten(1, (n, -1))[group // n, group % n] *= value
    both = [comes_back(candidate, one) for one in (matrix, replace(matrix, w=w))]
    (before, first), (after, reply) = [
        restored(candidate, replace(matrix, w=x), made)
        for x, made in zip((matrix.w, w), both, strict=True)
    ]
    others = torch.ones(o, n, dtype=torch.bool)
    others[group // n, group % n] = False
    others = matrix.spread(others)
    close(after[others], before[others], 0.0, at=reply,
          also=[both[0].reply, first, both[1].reply],
          what=f"the other groups as before group {(group // n, group % n)} changed")  # fmt: skip


# Groups that are unkind


@edge(
    "R4",
    why="A shard of an odd number of columns is legal, and its rows end in half a byte. Packed as "
    "one row or counted in halves, it fails or shifts.",
    ask="How many bytes has a row of 15 columns, and how many has a matrix of three such rows?",
    examples=0.5,
)
@example(one_group(1, 0, -1))
@example(Matrix(torch.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]), 3))
@given(matrices(sizes=(3, 8), odd=True))
def test_an_odd_number_of_columns_is_held(candidate, matrix):
    """an odd number of columns is quantized like an even one"""
    comes_back(candidate, matrix)


@edge(
    "R10",
    why="Biases folded into weights and fresh layers have groups of equal weights. Their range is "
    "0 unless 0 is part of it, and a scale of nothing erases them.",
    ask="What is the range of a group of equal weights, and which code do they get?",
    examples=0.5,
)
@example(1.0, 2, torch.float32)
@example(-3.0, 4, torch.float32)
@example(5.0, 2, torch.float16)
@given(st.sampled_from([n for n in NUMBERS if n]), st.integers(1, 4).map(lambda n: 2 * n),
       st.sampled_from(FLOATS))  # fmt: skip
def test_equal_weights_come_back(candidate, weight, count, dtype):
    """a group of equal weights comes back, of either sign"""
    comes_back(candidate, one_group(*[weight] * count, dtype=dtype))


@edge(
    "R10",
    why="Embeddings and norms have groups on one side of zero. A zero point that would have to be "
    "below 0 or above 15 is cut, and the group comes back shifted.",
    ask="Which zero point does a group from 10 to 11 ask for?",
    examples=0.5,
)
@example(one_group(10, 11))
@example(one_group(-11, -10))
@given(matrices(dtypes=FLOATS, numbers=(1.0, 2.0, 10.0, 10.5, 11.0, 9.3), powers=(0, -2),
                signs=(1, -1)))  # fmt: skip
def test_one_sided_groups_come_back(candidate, matrix):
    """groups of positive or of negative weights alone come back"""
    comes_back(candidate, matrix, steps=HALF)


@edge(
    "R10",
    why="Pruned groups are all zeros. 0 / 0 is NaN, and NaN as a code is whatever the cast makes "
    "of it, or an error in the middle of a model.",
    ask="What is divided by what when all weights are 0?",
    examples=0.5,
)
@example(Matrix(torch.zeros(1, 2), 2), 0)
@example(Matrix(torch.tensor([[0.0, 0.0, 1.0, -1.0]]), 2), 0)
@example(Matrix(torch.tensor([[0.0, -0.0, 1.0, -1.0]], dtype=torch.float16), 2), 0)
@given(matrices(dtypes=FLOATS, powers=(0, 2)), st.integers(0, 8))
def test_a_group_of_zeros_comes_back_as_zeros(candidate, matrix, group):
    """a group of zeros comes back as zeros, and the groups beside it come back too"""
    w, n = matrix.w.clone(), matrix.grid[1]
    w.unflatten(1, (n, -1))[:, group % n] = 0
    comes_back(candidate, replace(matrix, w=w))


@edge(
    "R10",
    why="The few large weights of a trained layer carry much of its work. A quantizer that cuts "
    "them off to spare the small ones breaks what cannot be seen in an average error.",
    ask="What is the largest error of one weight here, and which weight has it?",
    examples=0.5,
)
@example(one_group(*[0.1, -0.1] * 8), 0, 10.0)
@example(one_group(*[-0.1, 0.1] * 8), 3, -10.0)
@given(matrices(sizes=(12, 20), **ALONE, numbers=(0.0, 0.1, -0.1, 0.2, -0.3)),
       st.integers(0, 19), st.sampled_from([10.0, -10.0, 300.0]))  # fmt: skip
def test_an_outlier_comes_back(candidate, matrix, place, value):
    """one weight far outside the others comes back within half a step"""
    w = matrix.w.clone()
    w[0, place % w.shape[1]] = value
    comes_back(candidate, replace(matrix, w=w))


@edge(
    "R10",
    why="Late layers and small groups have weights of 1e-6. A floor under the scale that was "
    "meant against division by zero turns all of them to zero.",
    ask="Which constant in the code has the size of a weight?",
    examples=0.5,
)
@example(one_group(1e-6, -1e-6))
@example(one_group(-3e-10, 1e-10, dtype=torch.bfloat16))
@given(matrices(dtypes=(torch.float32, torch.bfloat16), powers=(-6, -9, -14, -24), **ALONE))
def test_a_small_group_keeps_its_digits(candidate, matrix):
    """small weights come back as exactly, by their own step, as large ones"""
    no_wider(matrix, comes_back(candidate, matrix))


@edge(
    "R10",
    why="fp16 ends at 65,504, and the range of a group is up to twice its largest weight. An "
    "infinite scale makes a group of infinities, or of zeros.",
    ask="In which dtype is the smallest weight taken from the largest?",
    examples=0.5,
)
@example(one_group(-40000, 40000, dtype=torch.float16))
@example(one_group(-60000, 0, 60000, 100, dtype=torch.float16))
@given(
    matrices(
        dtypes=(torch.float16,),
        powers=(0,),
        **ALONE,
        numbers=(60000.0, -60000.0, 50000.0, -45000.0, 33000.0, -20000.0, 100.0),
    )
)
def test_fp16_ranges_above_its_largest_number_are_held(candidate, matrix):
    """fp16 groups whose range fp16 cannot hold come back"""
    no_wider(matrix, comes_back(candidate, matrix))


def of_smallest(multiples: list[int]) -> Matrix:
    """One fp16 group in multiples of the smallest fp16 number, with some of either sign."""
    return one_group(
        *[n * 2.0**-24 for n in (90, -90, *multiples[: len(multiples) // 2 * 2])],
        dtype=torch.float16,
    )


@edge(
    "R10",
    why="An fp16 group of small weights has a scale below 6e-5, where fp16 has few digits left, "
    "and one over it is infinity. The group comes back as zeros or as NaN.",
    ask="What are the smallest scale that fp16 can hold and the largest inverse of one?",
    examples=0.5,
)
@example(one_group(-1e-5, 1e-5, dtype=torch.float16))
@example(one_group(-6e-5, 6e-5, 3e-5, 0, dtype=torch.float16))
@example(one_group(6e-8, -6e-8, dtype=torch.float16))
@given(st.lists(st.sampled_from([0, 1000, -1000, 700, -300, 500, 90, -90, 3, -1]),
                min_size=2, max_size=8).map(of_smallest))  # fmt: skip
def test_fp16_scales_below_its_smallest_normal_are_held(candidate, matrix):
    """fp16 groups whose scale is below the smallest normal number come back"""
    no_wider(matrix, comes_back(candidate, matrix))


# What is refused, and how arguments lie

W = torch.tensor([[1.0, -2.0, 3.0, 0.5, -1.0, 2.0], [0.0, 1.0, -1.0, 4.0, 2.0, 2.0]])


def spoilt(value: float, dtype: torch.dtype = torch.float32) -> Tensor:
    w = W.to(dtype, copy=True)
    w[1, 2] = value
    return w


BAD_WEIGHTS = (
    (W, 4), (W, 5), (W, 12), (W, 0), (W, -1), (W, -2), (W, -6), (W[0], 2), (W[None], 2),
    (torch.tensor(1.0), 1),
    *((spoilt(value, dtype), 2) for value in (math.nan, math.inf, -math.inf) for dtype in FLOATS),
)  # fmt: skip


@edge(
    "R11",
    why="A checkpoint with one NaN should stop here. Quantized without a word, NaN becomes a "
    "plausible code, and the broken layer passes every later check for NaN.",
    ask="What does a cast to uint8 make of NaN and of infinity?",
)
def test_weights_that_cannot_be_quantized_are_refused(candidate):
    """NaN, infinity, another shape and a group size that does not divide are a ValueError"""
    for w, group_size in BAD_WEIGHTS:
        candidate.begin_example()
        refused(candidate.attempt("quantize", w, group_size), "ValueError")


def bad_parts() -> Any:
    """Arguments of dequantize that do not agree: 2 rows of 6 codes in groups of 2 would."""
    packed = torch.tensor([[0x21, 0x43, 0x65]] * 2, dtype=torch.uint8)
    scales = torch.ones(2, 3)
    zeros = torch.zeros(2, 3, dtype=torch.int32)
    yield packed, scales, zeros[:, :1], 2
    yield packed, scales, zeros[:1], 2
    yield packed, scales, zeros[0], 2
    yield packed, scales, torch.tensor(0), 2
    yield packed, scales[:1], zeros[:1], 2
    yield packed, scales[:, :1], zeros, 2
    yield packed[:1], scales, zeros, 2
    yield packed[:, :2], scales, zeros, 2
    yield torch.cat((packed, packed), dim=1), scales, zeros, 2
    yield packed, scales, zeros, 1
    yield packed, scales, zeros, 3
    yield packed, scales, zeros, 4
    yield packed, scales, zeros, 0
    yield packed, scales, zeros, -2
    yield packed[0], scales[0], zeros[0], 2
    yield packed, scales[0], zeros[0], 2


@edge(
    "R11",
    why="A group size that is not the checkpoint's loads without an error if shapes are left to "
    "broadcast, and gives each weight another group's scale.",
    ask="Which of these would torch have spread over a dimension without a word?",
)
def test_parts_that_do_not_agree_are_refused(candidate):
    """packed, scales and zeros that do not agree are a ValueError, broadcast or not"""
    for arguments in bad_parts():
        candidate.begin_example()
        refused(candidate.attempt("dequantize", *arguments), "ValueError")


@edge(
    "R12",
    why="Weights arrive as the transpose of a checkpoint's or as a slice of a fused layer. Code "
    "that needs them dense fails, or reads another layer's numbers.",
    ask="Which of these operations need a contiguous tensor, and which copy to get one?",
    examples=0.5,
)
@example(Matrix(torch.tensor([[1.0, -2.0], [3.0, -0.5]]), 2), transposed)
@example(Matrix(torch.tensor([[1.0, -2.0], [3.0, -0.5]]), 2), sliced)
@given(matrices(rows=(2, 3), groups=(2, 3)), st.sampled_from([transposed, sliced]))
def test_strided_arguments_are_read_where_they_lie(candidate, matrix, layout):
    """every argument may be non-contiguous"""
    comes_back(candidate, replace(matrix, w=layout(matrix.w)))
    n = matrix.w.shape[1]
    chosen = torch.arange(matrix.w.numel()).reshape(matrix.w.shape) * 7 % 16
    candidate.begin_example()
    dense = bytes_if(candidate.attempt("pack", chosen).value, bytes_of(chosen))
    is_exactly(candidate.attempt("pack", layout(chosen)), dense, "bytes")
    candidate.begin_example()
    is_exactly(candidate.attempt("unpack", layout(dense), n), chosen, "codes")
    candidate.begin_example()
    scales = torch.arange(1.0, 1 + math.prod(matrix.grid)).reshape(matrix.grid)
    zeros = torch.arange(math.prod(matrix.grid)).reshape(matrix.grid) % 16
    given_parts = Parts(chosen, layout(scales), layout(zeros), matrix.group_size)
    given_parts.check(candidate, layout=layout)


@invariant(
    "R12",
    why="The weights are read again, for the next format or to measure the error. Changed in "
    "place, they are compared with themselves and the error is 0.",
    ask="Which conversions copy, and which give back the tensor they were given?",
    arguments=True,
    examples=0.5,
)
@example(one_group(-1, 0, 2, 0.5))
@given(matrices(dtypes=FLOATS, powers=(0,)))
def test_arguments_stay_as_they_were(candidate, matrix):
    """a call leaves its arguments as they were"""
    made = quantize(candidate, matrix)
    restored(candidate, matrix, made)
    n = matrix.w.shape[1]
    for dtype in (torch.uint8, torch.int64):
        chosen = codes_of(made.packed, n).to(dtype)
        assert candidate.pack(chosen) is not None
    assert candidate.unpack(made.packed, n) is not None


@invariant(
    "R12",
    why="Something kept from the first layer and used for the next is wrong only in the second, "
    "and tests quantize one layer.",
    ask="What lives longer than one call here, and what is its key?",
    examples=0.15,  # two fresh processes each
)
@example((one_group(-1, 2), one_group(-3, 5)))
@given(st.integers(2, 4).flatmap(lambda size: st.tuples(*[
    matrices(rows=(1, 1), groups=(1, 1), sizes=(size, size))] * 2)))  # fmt: skip
def test_earlier_calls_leave_no_trace(candidate, both):
    """a call returns what it returns in a fresh process, whatever was called before"""
    earlier, matrix = both
    candidate.restart()
    wanted = round_trip(candidate, matrix)
    candidate.restart()
    round_trip(candidate, earlier)
    for (name, fresh, _), (_, got, reply) in zip(
        wanted, round_trip(candidate, matrix), strict=True
    ):
        equal(got.tolist(), fresh.tolist(), what=f"{name} as in a fresh process", at=reply)


def round_trip(candidate: Any, matrix: Matrix) -> list[tuple[str, Tensor, Reply]]:
    """Each part of what quantize and dequantize return, by name, and the reply that shows it."""
    made = quantize(candidate, matrix)
    weights, reply = restored(candidate, matrix, made)
    parts_made = [(name, getattr(made, name), made.reply) for name in RECORDS["quantize"]]
    return [*parts_made, ("weights", weights, reply)]
