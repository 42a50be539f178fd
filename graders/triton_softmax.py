"""What a softmax kernel must hold: the float64 answer, its own tensors, no races, no torch.

On the CPU the kernels run in Triton's interpreter, one program after another and about a
millisecond each, so matrices have few rows. The gaps of every strided input hold NaN.
"""

import math
from typing import Any

import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from harness.suite import Broke, Candidate, Reply, behaviour, edge, holds, invariant, refused
from harness.suite.kernels import (
    done_in_a_kernel,
    leaves_guards_alone,
    shares_nothing_written,
    stays_inside,
)
from harness.suite.layouts import expanded, sliced, transposed
from harness.suite.tensors import made
from harness.suite.tolerance import close, identical, tensor

INF, NAN = math.inf, math.nan
SINGLE, HALF, BRAIN = torch.float32, torch.float16, torch.bfloat16
ROUNDING = {SINGLE: 0.0, HALF: 2.0**-11, BRAIN: 2.0**-8}  # R2: u, half a step at most
LEAST = {SINGLE: 2.0**-126, HALF: 2.0**-25, BRAIN: 2.0**-126}  # R2: below the normal numbers
INSIDE = "elements of x and what the call allocates"

# Around the powers of two that a block may have, and far from them.
WIDTHS = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257,
          500, 513, 1023, 1024, 1025, 1500, 2047, 2048, 2049, 3000, 4095, 4096, 4097]  # fmt: skip
SHAPES_OF_A_ROW = {
    "mixed": "torch.randn({m}, {n}, generator=torch.Generator().manual_seed({seed})) * 4",
    "rising": "torch.linspace(-60, 60, {n}).expand({m}, {n})",
    "falling": "torch.linspace(60, -60, {n}).expand({m}, {n})",
    "far below zero": "torch.rand({m}, {n}, generator=torch.Generator().manual_seed({seed})) - 70",
}


def matrix(kind: str, rows: int, cols: int, seed: int = 0, dtype: torch.dtype = SINGLE) -> Tensor:
    source = SHAPES_OF_A_ROW[kind].format(m=rows, n=cols, seed=seed)
    return made(source if dtype is SINGLE else f"({source}).to({dtype})")


def matrices(rows: st.SearchStrategy[int], cols: Any, dtype: torch.dtype = SINGLE) -> Any:
    """Matrices that scripts show by an expression."""
    kinds, seeds = st.sampled_from(sorted(SHAPES_OF_A_ROW)), st.integers(0, 99)
    return st.builds(matrix, kinds, rows, cols, seeds, st.just(dtype))


def numbers(dtype: torch.dtype = SINGLE, most_rows: int = 3, most_cols: int = 9) -> Any:
    """Small matrices of eighths, which shrink number by number."""
    sizes = st.tuples(st.integers(1, most_rows), st.integers(1, most_cols))
    return sizes.flatmap(lambda size: rows_of(*size)).map(lambda m: torch.tensor(m).to(dtype))


def rows_of(rows: int, cols: int) -> Any:
    number = st.integers(-160, 160).map(lambda n: n / 8)
    row = st.lists(number, min_size=cols, max_size=cols)
    return st.lists(row, min_size=rows, max_size=rows)


# layouts: the same values, laid out in other ways


def picked(x: Tensor, row_step: int, col_step: int) -> Tensor:
    """Rows and columns of a larger matrix whose other entries are NaN, from its second row on."""
    rows, cols = x.shape
    whole = torch.full((1 + rows * row_step, 2 + cols * col_step), NAN, dtype=x.dtype)
    view = whole[1 : 1 + rows * row_step : row_step, 1 : 1 + cols * col_step : col_step]
    view.copy_(x)
    return view


def left_part(x: Tensor) -> Tensor:
    """The first columns of a wider matrix."""
    return picked(x, 1, 1)


def every_third_column(x: Tensor) -> Tensor:
    return picked(x, 1, 3)


def every_second_row(x: Tensor) -> Tensor:
    return picked(x, 2, 1)


def one_column_for_all(x: Tensor) -> Tensor:
    return x[:, :1].clone().expand(x.shape[0], x.shape[1])


def windows(x: Tensor) -> Tensor:
    """Rows that overlap: each starts one element after the one before."""
    rows, cols = x.shape
    flat = x.reshape(-1)[: rows + cols - 1].clone()
    return flat.as_strided((rows, cols), (1, 1))


def picked_and_transposed(x: Tensor) -> Tensor:
    return picked(x.t(), 1, 2).t()


LAYOUTS = [transposed, sliced, left_part, every_third_column, every_second_row, expanded,
           one_column_for_all, windows, picked_and_transposed]  # fmt: skip
WITH_GAPS = [sliced, left_part, every_third_column, every_second_row, picked_and_transposed]


def laid_out(values: Any, layouts: Any = LAYOUTS) -> Any:
    return st.builds(lambda layout, x: layout(x), st.sampled_from(layouts), values)


# the answer


def is_softmax_of(x: Tensor, reply: Reply, *, also: Any = ()) -> None:
    """Break unless the reply is the softmax of `x`, as exact as R2 asks."""
    got = tensor(reply.value, shape=x.shape, dtype=x.dtype, what="a result", at=reply)
    exact = x.double()
    finite = torch.where(exact.isinf(), exact.amax(1, keepdim=True), exact)
    distance = exact.amax(1, keepdim=True) - finite
    wanted = torch.softmax(exact, 1)
    share = ROUNDING[x.dtype] + 2.0**-24 * (16 + 8 * distance + 2 * math.sqrt(x.shape[1]))
    close(got, wanted, wanted * share + LEAST[x.dtype], at=reply, also=also)


def check_softmax(candidate: Candidate, x: Tensor) -> None:
    is_softmax_of(x, candidate.attempt("softmax", x))


@behaviour(
    "R2",
    why="Every layer's attention goes through this kernel. An error of a few parts in a thousand "
    "raises no alarm and moves the text a little at every token.",
    ask="Which of the roundings in your kernel is the largest, and what would remove it?",
    examples=0.4,
)
@given(st.one_of(numbers(), matrices(st.integers(1, 3), st.integers(1, 300))))
@example(torch.tensor([[1.0, 2.0]]))
@example(torch.tensor([[0.0], [1.0]]))
@example(matrix("mixed", 140, 2))
def test_every_element_is_within_rounding(candidate: Candidate, x: Tensor) -> None:
    """every element is within rounding of the exact softmax of its row"""
    check_softmax(candidate, x)


@behaviour(
    "R1",
    why="The next layer takes the result as it is. Another dtype doubles its memory traffic or "
    "fails three calls later, far from here.",
    ask="Where is the one place in your code that decides the dtype of the result?",
    examples=0.15,
)
@given(
    st.sampled_from([SINGLE, HALF]),
    st.integers(1, 3),
    st.integers(1, 5),
)
@example(HALF, 2, 3)
@example(SINGLE, 1, 3)
@example(SINGLE, 3, 1)
def test_the_result_has_the_shape_dtype_and_device_of_the_input(
    candidate: Candidate, dtype: torch.dtype, rows: int, cols: int
) -> None:
    """the result has the shape, dtype and device of the input"""
    x = torch.ones(rows, cols, dtype=dtype)
    reply = candidate.attempt("softmax", x)
    tensor(reply.value, shape=x.shape, dtype=dtype, what="a result", at=reply)
    device = candidate.device
    there = getattr(reply.value, "answered_on", "cpu")
    holds(there == device, f"a result on {device}, as the input", f"one on {there}", at=reply)


@behaviour(
    "R3",
    why="Vocabularies and sequence lengths are rarely powers of two. Spare lanes that take part "
    "shift every probability of the row.",
    ask="What do the spare lanes of the last block hold, and why is that value right for both the "
    "maximum and the sum?",
    examples=0.3,
)
@given(matrices(st.integers(1, 2), st.sampled_from(WIDTHS)))
@example(torch.tensor([[-70.0, -71.0, -72.0]]))
@example(matrix("rising", 1, 1025))
@example(matrix("falling", 1, 2049))
@example(matrix("far below zero", 1, 1500))
@example(matrix("rising", 1, 4097))
@example(matrix("mixed", 1, 9000))
def test_any_width_works(candidate: Candidate, x: Tensor) -> None:
    """a row of any width works, a power of two or not"""
    check_softmax(candidate, x)


@behaviour(
    "R4",
    why="Scores arrive as slices and transposes of larger buffers. A kernel that assumes its "
    "layout reads other requests' numbers and returns probabilities that look fine.",
    ask="Which strides does your kernel take, and what would break if the output's were another?",
    examples=0.4,
)
@given(laid_out(numbers()))
@example(transposed(torch.tensor([[0.0, 1.0], [5.0, 2.0], [3.0, 7.0]])))
@example(every_third_column(torch.tensor([[0.0, 1.0, 3.0], [5.0, 2.0, 4.0]])))
@example(left_part(torch.tensor([[0.0, 1.0, 3.0], [5.0, 2.0, 4.0]])))
@example(expanded(torch.tensor([[0.0, 1.0, 3.0], [0.0, 0.0, 0.0]])))
@example(made("torch.linspace(-9, 9, 6000).reshape(3000, 2).t()"))
@example(made("torch.linspace(9, -9, 9200).reshape(2, 4600)[:, ::2]"))
def test_any_strides_work(candidate: Candidate, x: Tensor) -> None:
    """a transposed, sliced or expanded matrix gives what its values give"""
    check_softmax(candidate, x)


@behaviour(
    "R2",
    why="Half precision has three digits. A sum of a thousand terms in it is wrong in the second, "
    "and attention over long contexts drifts with length.",
    ask="At which lines does the dtype change, and why there?",
    examples=0.3,
)
@given(st.one_of(matrices(st.integers(1, 2), st.integers(1, 600), HALF), numbers(HALF)))
@example(matrix("mixed", 1, 300, 1, HALF))
@example(matrix("mixed", 2, 40, 2, HALF))
@example(matrix("rising", 1, 600, 0, HALF))
@example(matrix("mixed", 1, 1500, 3, HALF))
def test_half_precision_is_computed_in_single(candidate: Candidate, x: Tensor) -> None:
    """half precision is computed in single precision and rounded once"""
    check_softmax(candidate, x)


@behaviour(
    "R2",
    why="bfloat16 is what most models are served in. Two digits are left after a single rounding, "
    "so a second one shows.",
    ask="At which lines does the dtype change, and why there?",
    device="cuda",
)
@given(st.one_of(matrices(st.integers(1, 64), st.sampled_from(WIDTHS), BRAIN), numbers(BRAIN)))
@example(matrix("mixed", 5, 4097, 1, BRAIN))
def test_brain_floats_are_computed_in_single(candidate: Candidate, x: Tensor) -> None:
    """bfloat16 is computed in single precision and rounded once"""
    check_softmax(candidate, x)


@invariant(
    "R6",
    why="A read past the end fails only when the page behind it is unmapped, so it passes every "
    "test and kills the server once a week. A write past the end changes another tensor.",
    ask="For which lane of which program is the address the largest, and what bounds it?",
    device="cpu",
    examples=0.4,
)
@given(
    st.one_of(
        matrices(st.integers(1, 3), st.sampled_from(WIDTHS[:28])),
        laid_out(numbers(), WITH_GAPS),
        laid_out(numbers(HALF)),
    )
)
@example(torch.tensor([[0.0, 1.0, 2.0]]))
@example(torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
@example(left_part(torch.tensor([[0.0, 1.0, 3.0], [5.0, 2.0, 4.0]])))
@example(every_third_column(torch.tensor([[0.0, 1.0, 3.0]])))
@example(matrix("mixed", 1, 1500))
def test_nothing_outside_the_tensors_is_touched(candidate: Candidate, x: Tensor) -> None:
    """a kernel reads and writes only elements of its tensors"""
    stays_inside(candidate.attempt("softmax", x), INSIDE)


@invariant(
    "R6",
    why="A write past the end of an output changes another tensor, whose owner then looks for the "
    "bug in the wrong place.",
    ask="For which lane of which program is the address the largest, and what bounds it?",
    device="cuda",
)
@given(
    st.one_of(
        matrices(st.integers(1, 40), st.sampled_from(WIDTHS)),
        laid_out(numbers(), WITH_GAPS),
        laid_out(numbers(HALF)),
    )
)
@example(torch.tensor([[0.0, 1.0, 2.0]]))
def test_memory_around_the_result_is_left_alone(candidate: Candidate, x: Tensor) -> None:
    """a kernel writes nothing around what the call allocates"""
    leaves_guards_alone(candidate.attempt("softmax", x))


@invariant(
    "R7",
    why="On a GPU programs run at once and in any order. What two of them share and one writes is "
    "right in every small test and wrong under load.",
    ask="Which elements does program i write, as a formula, and can that formula meet another's?",
    device="cpu",
    examples=0.3,
)
@given(
    st.one_of(
        matrices(st.integers(1, 9), st.sampled_from([1, 3, 17, 100])),
        matrices(st.integers(1, 2), st.sampled_from([500, 1025, 2049])),
        laid_out(numbers(most_rows=5)),
    )
)
@example(torch.tensor([[0.0], [1.0]]))
@example(torch.tensor([[0.0, 1.0, 2.0], [5.0, 5.0, 4.0]]))
@example(matrix("mixed", 2, 1500))
def test_no_two_programs_share_an_element_that_one_writes(candidate: Candidate, x: Tensor) -> None:
    """no two programs of a launch touch an element that one of them writes"""
    shares_nothing_written(candidate.attempt("softmax", x))


@invariant(
    "R8",
    why="The kernel is there to be fused with what comes before and after it. A hidden call of a "
    "library is a second trip through memory, and cannot be fused.",
    ask="Which operations does torch run for one call of yours, and what does each cost?",
    examples=0.3,
)
@given(
    st.sampled_from([SINGLE, HALF]).flatmap(
        lambda dtype: st.one_of(
            matrices(st.integers(1, 3), st.sampled_from(WIDTHS[:30]), dtype),
            laid_out(numbers(dtype)),
        )
    )
)
@example(torch.tensor([[0.0, 1.0]]))
@example(torch.tensor([[0.0, 1.0]], dtype=HALF))
@example(transposed(torch.tensor([[0.0, 1.0], [5.0, 2.0]])))
@example(matrix("mixed", 1, 4097))
@example(matrix("mixed", 1, 40_000))
@example(torch.tensor([[0.0, -INF]]))
def test_the_work_is_done_in_a_kernel(candidate: Candidate, x: Tensor) -> None:
    """the work is done in a Triton kernel, and torch computes nothing"""
    # The softmax of one column is 1: there is nothing to launch a kernel for.
    done_in_a_kernel(candidate.attempt("softmax", x), launched=x.shape[1] > 1)


@invariant(
    "R4",
    why="The scores are used again: for the loss, for log-probabilities, for a second sampler. "
    "Softmax over them in place changes all of these.",
    ask="What would have to be true of a caller for an in-place variant to be safe?",
    examples=0.3,
    arguments=True,
)
@given(st.one_of(numbers(), laid_out(numbers())))
@example(torch.tensor([[0.0, -INF]]))
@example(torch.tensor([[0.0, 1.0]]))
@example(torch.tensor([[-65504.0, 65504.0, -INF]], dtype=HALF))
def test_the_input_and_what_lies_around_it_stay_as_they_were(
    candidate: Candidate, x: Tensor
) -> None:
    """the input and the memory around it stay as they were"""
    _ = candidate.attempt("softmax", x).value


@behaviour(
    "R10",
    why="A server calls the kernel for every layer and request. A buffer kept between calls gives "
    "one request the probabilities of another.",
    ask="What, if anything, does your module keep between two calls?",
    examples=0.25,
)
@given(
    st.tuples(st.integers(1, 3), st.integers(1, 5)).flatmap(
        lambda size: st.lists(rows_of(*size).map(torch.tensor), min_size=2, max_size=3)
    ),
    st.lists(st.sampled_from([None, *LAYOUTS]), min_size=3, max_size=3),
)
@example([torch.tensor([[0.0, 1.0]]), torch.tensor([[1.0, 0.0]])], [None, None, None])
@example(
    [torch.tensor([[0.0, 1.0], [3.0, 2.0]]), torch.tensor([[0.0, 4.0], [1.0, 2.0]])],
    [None, transposed, None],
)
def test_earlier_results_stay_as_they_are(
    candidate: Candidate, values: list[Tensor], layouts: list[Any]
) -> None:
    """a call depends on its own input alone and leaves earlier results as they are"""
    inputs = [x if lay is None else lay(x) for x, lay in zip(values, layouts, strict=False)]
    program = candidate.program()
    replies = [program.softmax(x) for x in inputs]
    with program.probing():
        again = [reply.read("data") for reply in replies]
    program.run()
    for x, reply in zip(inputs, replies, strict=True):
        is_softmax_of(x, reply, also=replies)
    for reply, later in zip(replies, again, strict=True):
        if not identical(reply.value, later.value):
            raise Broke(
                "an earlier result as it was", "other values after a later call",
                at=reply, also=[*replies, later],
            )  # fmt: skip


EXTREMES = {
    SINGLE: [0.0, 1.0, -1.0, 100.0, -100.0, 1e4, 1e4 - 1, -1e4, -1e4 + 1, 1e30, -1e30,
             3.4028234663852886e38, -3.4028234663852886e38],
    HALF: [0.0, 1.0, -1.0, 12.0, 100.0, -100.0, 1e4, -1e4, 2e4, -2e4, 65504.0, -65504.0],
}  # fmt: skip


def extreme_rows(dtype: torch.dtype) -> Any:
    number = st.sampled_from(EXTREMES[dtype])
    near = st.integers(-64, 64).map(lambda n: n / 8)
    shifted = st.builds(
        lambda base, row: [base + x for x in row],
        st.sampled_from([1e4, -1e4, 3e4, -3e4]),
        st.lists(near, min_size=1, max_size=6),
    )
    row = st.one_of(st.lists(number, min_size=1, max_size=6), shifted)
    return row.map(lambda r: torch.tensor([r], dtype=dtype))


@edge(
    "R5",
    why="Scores of thousands appear when a head degenerates or a scale is wrong. Overflow turns "
    "one request into NaN, and a shared batch with it.",
    ask="How large may x be before each line of your kernel loses its digits?",
    examples=0.5,
)
@given(st.one_of(extreme_rows(SINGLE), extreme_rows(HALF)))
@example(torch.tensor([[1000.0, 0.0]]))
@example(torch.tensor([[-1000.0, -1001.0]]))
@example(torch.tensor([[-30000.0, -30001.0]]))
@example(torch.tensor([[9999.0, 10000.0, 9998.5]]))
@example(torch.tensor([[100.0, 99.0, 30.0]]))
@example(torch.tensor([[-3.4028234663852886e38, -3.4028234663852886e38]]))
@example(torch.tensor([[3.4028234663852886e38, -3.4028234663852886e38]]))
@example(torch.tensor([[-65504.0, -65504.0]], dtype=HALF))
def test_large_values_stay_finite(candidate: Candidate, x: Tensor) -> None:
    """values as large as the dtype holds give finite and exact results"""
    check_softmax(candidate, x)


def masked(x: Tensor, kept: int, only: bool) -> Tensor:
    """All but one entry of a row masked, or all from that entry on the other way round."""
    columns = torch.arange(x.shape[1])
    gone = columns != kept if only else columns < kept
    return x.masked_fill(gone, -INF)


@edge(
    "R5",
    why="A causal mask writes -inf over everything a query must not see. A trace of it leaks the "
    "future; a NaN ends the request.",
    ask="What does your kernel compute for a block that holds nothing but -inf?",
    examples=0.3,
)
@given(
    st.tuples(st.integers(1, 2), st.sampled_from([1, 2, 3, 9, 40, 300, 1500, 2500])).flatmap(
        lambda size: st.builds(
            masked,
            st.just(torch.linspace(-3, 3, size[1]).expand(size)),
            st.integers(0, size[1] - 1),
            st.booleans(),
        )
    ),
    st.sampled_from([SINGLE, HALF]),
)
@example(torch.tensor([[0.0, -INF]]), SINGLE)
@example(torch.tensor([[-INF, -INF, 2.0], [1.0, -INF, 1.0]]), SINGLE)
@example(masked(torch.zeros(1, 1500), 1400, only=False), SINGLE)
@example(masked(torch.zeros(1, 5000), 4999, only=True), SINGLE)
@example(masked(torch.zeros(1, 5000), 3, only=True), SINGLE)
@example(masked(torch.zeros(1, 9000), 8500, only=True), SINGLE)
def test_minus_infinity_becomes_zero(candidate: Candidate, x: Tensor, dtype: torch.dtype) -> None:
    """an entry of -inf becomes exactly zero and changes nothing else"""
    x = x.to(dtype)
    reply = candidate.attempt("softmax", x)
    got = tensor(reply.value, shape=x.shape, dtype=x.dtype, what="a result", at=reply)
    left = got[(x == -INF) & (got != 0)]
    if left.numel():
        raise Broke("0 for each of the -inf", f"{left[0].item():.7g} for one of them", at=reply)
    is_softmax_of(x, reply)


@edge(
    "R3",
    why="A batch may be empty after the last request of it has finished. A launch over nothing is "
    "an error on a GPU, and takes the whole step with it.",
    ask="Which grid does your code launch when there are no rows?",
    examples=0.1,
)
@given(
    st.sampled_from([(0, 0), (0, 1), (1, 0), (0, 5), (5, 0), (0, 2000)]),
    st.sampled_from([SINGLE, HALF]),
)
@example((0, 4), SINGLE)
@example((4, 0), SINGLE)
def test_empty_matrices_work(
    candidate: Candidate, shape: tuple[int, int], dtype: torch.dtype
) -> None:
    """a matrix without rows or columns gives an empty result of its shape"""
    reply = candidate.attempt("softmax", torch.zeros(shape, dtype=dtype))
    tensor(reply.value, shape=shape, dtype=dtype, what="a result", at=reply)


@edge(
    "R9",
    why="A batch dimension that is forgotten or left over should fail where it is made, not as "
    "probabilities over the wrong axis.",
    ask="What would you have to change to accept any number of leading dimensions?",
    examples=0.1,
)
@given(st.sampled_from([(), (1,), (3,), (1, 1, 1), (2, 3, 4), (1, 2, 3, 4)]))
@example((4,))
@example((2, 3, 4))
@example((1, 2, 3))
@example(())
def test_only_matrices_are_taken(candidate: Candidate, shape: tuple[int, ...]) -> None:
    """an input that does not have two dimensions is refused"""
    refused(candidate.attempt("softmax", torch.ones(shape)), "ValueError")


@edge(
    "R3",
    why="A vocabulary has 128 thousand entries, and a long context as many keys. The row no longer "
    "fits a block, nor a 16-bit counter.",
    ask="Where do a row's numbers live between your first and your last pass over it?",
)
def test_a_row_of_a_hundred_thousand_works(candidate: Candidate) -> None:
    """a row of a hundred thousand columns works"""
    source = "torch.randn(1, 100_000, generator=torch.Generator().manual_seed(3)) * 3"
    check_softmax(candidate, made(source))
