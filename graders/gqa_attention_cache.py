"""What grouped-query attention over a cache must hold, judged against dense attention in float64.

A sequence is cut into chunks and the chunks cross in one trip. Where a claim says that two ways
give the same, the candidate's own answer for the plain way is to be repeated: one fault breaks one
check. What must not matter is NaN: the cache's own slots past its length, written through `k` and
`v` where those are the storage itself.
"""

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from harness.suite import Broke, Program, Reply, behaviour, edge, holds, invariant, refused
from harness.suite.dense_attention import Dense, dense_attention
from harness.suite.grids import GRID, grids
from harness.suite.layouts import expanded, sliced, transposed
from harness.suite.tensors import made
from harness.suite.tolerance import close, identical, tensor

HALVES = (torch.float16, torch.bfloat16)
FLOATS = (torch.float32, *HALVES)


# Sequences and how they are cut


@dataclass(frozen=True, slots=True)
class Sequence:
    """Queries, keys and values of every token, [B, H, S, D], and the chunks they come in."""

    q: Tensor
    k: Tensor
    v: Tensor
    cuts: tuple[int, ...]
    spare: int = 1  # slots of the cache that are never filled
    scale: float | None = None

    @property
    def group(self) -> int:
        return self.q.shape[1] // self.k.shape[1]

    @property
    def max_len(self) -> int:
        return max(1, self.k.shape[2] + self.spare)

    def coarse(self) -> float:
        return COARSE * float(self.v.abs().max())

    def spans(self) -> list[tuple[int, int]]:
        ends = [0]
        for size in self.cuts:
            ends.append(ends[-1] + size)
        return list(pairwise(ends))

    def row(self, row: int) -> "Sequence":
        """One row of the batch as a batch of its own."""
        q, k, v = (x[row : row + 1].contiguous() for x in (self.q, self.k, self.v))
        return replace(self, q=q, k=k, v=v)

    def part(self, start: int, stop: int) -> tuple[Tensor, Tensor, Tensor]:
        """The tokens of one chunk, as tensors of their own."""
        whole = self.q, self.k, self.v
        if (start, stop) == (0, self.k.shape[2]):
            return whole
        q, k, v = (x[:, :, start:stop].contiguous() for x in whole)
        return q, k, v

    def answer(self, start: int, stop: int) -> Dense:
        """What the queries of one chunk give, over all keys up to each one's position."""
        k, v = (x[:, :, :stop].repeat_interleave(self.group, dim=1) for x in (self.k, self.v))
        seen = torch.arange(stop) <= torch.arange(start, stop)[:, None]
        return dense_attention(self.q[:, :, start:stop], k, v, scale=self.scale, seen=seen)


def tokens(*heads: Any, size: int = 2, dtype: torch.dtype = torch.float32) -> Tensor:
    """One row of a batch: each head's tokens, a number n standing for the vector n, 0, 0 ..."""
    numbers = torch.tensor(heads, dtype=dtype)  # (heads, tokens) or (heads, tokens, size)
    if numbers.ndim == 2:
        numbers = torch.nn.functional.pad(numbers[..., None], (0, size - 1))
    return numbers[None]


def great(q: Any, k: Any, v: Any) -> Sequence:
    """One head of size 4, whose scores are half of q times k."""
    return Sequence(*(tokens(numbers, size=4) for numbers in (q, k, v)), (len(q),))


def halved(dtype: torch.dtype, q: Any, k: Any, v: Any, scale: float | None = None) -> Sequence:
    """One head in half precision."""
    parts = (tokens(numbers, dtype=dtype) for numbers in (q, k, v))
    return Sequence(*parts, (len(k),), scale=scale)


def rows_of(*rows: Any) -> Tensor:
    """Rows of a batch, each as `tokens` has it."""
    return torch.cat([tokens(*heads) for heads in rows])


def alike(*numbers: Any, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of one head, all the same."""
    return (tokens([*numbers], dtype=dtype),) * 3


# Scores of sharp queries are equal or far apart, yet small enough for exp: weights are 0, 1 or
# shared evenly, whatever the scale and its rounding.
SHARP_QUERIES = torch.tensor([0.0, 40.0, -40.0])
SHARP_KEYS = torch.tensor([0.0, 1.0, -1.0])
COARSE = 2**-8  # of the greatest value: as a margin where a claim is about which values are read


@st.composite
def sequences(draw: Any, *, batch: Any = (1, 2), kv_heads: Any = (1,), group: Any = (1,),
              size: Any = (2, 4), length: Any = (1, 6), most_cuts: int = 1, spare: int = 2,
              dtypes: Any = (torch.float32,), scales: Any = (None,),
              sharp: bool = False) -> Sequence:  # fmt: skip
    """A sequence; each pair is the least and the most, `most_cuts` the number of chunks."""
    b, d, s = draw(st.integers(*batch)), draw(st.integers(*size)), draw(st.integers(*length))
    heads = draw(st.sampled_from(kv_heads))
    dtype = draw(st.sampled_from(dtypes))
    ends = sorted(draw(st.sets(st.integers(1, s - 1), max_size=most_cuts - 1))) if s > 1 else []
    q_heads = heads * draw(st.sampled_from(group))
    return Sequence(
        q=draw(grids(b, q_heads, s, d, dtype=dtype, of=SHARP_QUERIES if sharp else GRID)),
        k=draw(grids(b, heads, s, d, dtype=dtype, of=SHARP_KEYS if sharp else GRID)),
        v=draw(grids(b, heads, s, d, dtype=dtype)),
        cuts=tuple(stop - start for start, stop in pairwise([0, *ends, s])),
        spare=draw(st.integers(1, spare)),
        scale=draw(st.sampled_from(scales)),
    )


# Calls


def cache_for(program: Program, sequence: Sequence) -> Reply:
    b, heads, _, d = sequence.k.shape
    dtype = sequence.k.dtype
    kind = {} if dtype == torch.float32 else {"dtype": dtype}
    return program.KVCache(b, heads, sequence.max_len, d, **kind)


def attend(program: Program, cache: Reply, sequence: Sequence, start: int, stop: int) -> Reply:
    scale = {} if sequence.scale is None else {"scale": sequence.scale}
    q, k, v = sequence.part(start, stop)
    return program.attention(q, k, v, cache, **scale)


def output(reply: Reply, answer: Dense, dtype: torch.dtype) -> Tensor:
    return tensor(reply.value, shape=answer.out.shape, dtype=dtype, what="an output", at=reply)


def run_chunks(candidate: Any, sequence: Sequence) -> list[Reply]:
    """The chunks one after another, alone on record."""
    candidate.begin_example()
    program = candidate.program()
    cache = cache_for(program, sequence)
    outputs = [attend(program, cache, sequence, *span) for span in sequence.spans()]
    program.run()
    assert cache.value is not None
    return outputs


def check_chunks(candidate: Any, sequence: Sequence, *, coarse: bool = False) -> None:
    """Each chunk's output is that of dense attention."""
    what = "the output of dense attention"
    outputs = run_chunks(candidate, sequence)
    for span, reply in zip(sequence.spans(), outputs, strict=True):
        answer, dtype = sequence.answer(*span), sequence.q.dtype
        if coarse:
            dtype = getattr(reply.value, "dtype", dtype)  # which one it is is R8's
        allowed = sequence.coarse() if coarse else answer.out_allowed(dtype)
        close(output(reply, answer, dtype), answer.out, allowed, what=what, at=reply)


def own(candidate: Any, sequence: Sequence) -> Tensor:
    """What the candidate itself gives for a sequence, chunk after chunk: the answer to repeat."""
    outputs = run_chunks(candidate, sequence)
    answers = [sequence.answer(*span) for span in sequence.spans()]
    parts = [output(o, a, torch.float32) for o, a in zip(outputs, answers, strict=True)]
    return torch.cat(parts, dim=2)


def check_repeats(wanted: Tensor, sequence: Sequence, outputs: list[Reply], where: str) -> None:
    """The outputs of all chunks are those of `own` again, but for rounding."""
    for (start, stop), out in zip(sequence.spans(), outputs, strict=True):
        answer = sequence.answer(start, stop)
        got, allowed = output(out, answer, torch.float32), 2 * answer.out_allowed(torch.float32)
        close(got, wanted[:, :, start:stop], allowed, what=f"the output {where}", at=out)


def check_last_token(candidate: Any, sequence: Sequence, *, coarse: bool = False) -> None:
    """Of one pass over the sequence, the output of the last token, which sees all of it."""
    length = sequence.k.shape[2]
    [reply] = run_chunks(candidate, replace(sequence, cuts=(length,)))
    got = output(reply, sequence.answer(0, length), sequence.q.dtype)[:, :, -1:]
    answer, what = (
        sequence.answer(length - 1, length),
        "the output of dense attention for the last query",
    )
    allowed = sequence.coarse() if coarse else answer.out_allowed(sequence.q.dtype)
    close(got, answer.out, allowed, what=what, at=reply)


# What attention computes


@behaviour(
    "R2",
    why="Every layer adds its error to the next. A weight that is slightly off leaves the text "
    "fluent and the answers worse, which no log shows.",
    ask="What would the output be if all scores were equal, and how would a wrong scale show?",
)
@example(Sequence(tokens([1]), tokens([2]), tokens([3]), (1,)))
@example(Sequence(*alike(0, 1), (2,)))
@example(Sequence(tokens([[0, 0, 0, 0], [2, 0, 0, 0]]), tokens([[0, 0, 0, 0], [1, 0, 0, 0]]),
                  tokens([[0, 0, 0, 0], [1, 0, 2, 0]]), (2,)))  # fmt: skip
@given(sequences(batch=(1, 1), length=(1, 7)))
def test_the_output_is_softmax_attention(candidate, sequence):
    """a query gets the average of the values, weighted by the softmax of its scaled scores"""
    check_last_token(candidate, sequence)


@behaviour(
    "R4",
    why="A model is trained with its heads in groups. Read from another group's keys it still "
    "produces tensors of the right shape, and nonsense.",
    ask="What does the order of heads look like in the weights of the query projection?",
    examples=0.5,
)
@example(Sequence(tokens([0], [0], [0], [0]), tokens([0], [0]), tokens([1], [2]), (1,)))
@given(
    sequences(batch=(1, 1), kv_heads=(2, 3), group=(2, 3), length=(1, 3), size=(2, 3), sharp=True)
)
def test_a_query_head_reads_the_kv_head_of_its_group(candidate, sequence):
    """query head h reads KV head h // (Hq // Hkv)"""
    check_last_token(candidate, sequence, coarse=True)


@behaviour(
    "R2",
    why="Models set their own scale, and some are trained with one that is not D ** -0.5. The "
    "default in its place sharpens or flattens every distribution.",
    ask="Which values of an optional argument does a test of its truth confuse with None?",
    examples=0.5,
)
@example(Sequence(*alike(0, 1), (2,), scale=0.0))
@example(Sequence(*alike(0, 1), (2,), scale=-1.0))
@example(Sequence(*alike(0, 1), (2,), scale=1.0))
@given(sequences(batch=(1, 1), scales=(0.0, 1.0, -1.0, 2.0, 0.125, -0.3)))
def test_a_given_scale_is_used_as_it_is(candidate, sequence):
    """a given scale is used as it is, zero and negative ones too"""
    check_last_token(candidate, sequence)


def last_of(length: int, dtype: str) -> Sequence:
    """Every query asks for the last token, whose key and value are the only ones that are not 0."""
    shape = f"1, 1, {length}, 2"
    q = made(f"torch.full(({shape}), 40.0, dtype=torch.{dtype})")
    k = made(
        f"(torch.arange({2 * length}) // 2 == {length - 1}).to(torch.{dtype}).reshape({shape})"
    )
    return Sequence(q, k, k, (length,))


LONG = last_of(258, "bfloat16")  # 256 and 257 are one number in bfloat16


@behaviour(
    "R3",
    why="A prompt that sees its own future gives keys that no decoding step can repeat: the model "
    "answers differently with and without the cache.",
    ask="Which keys does the first query of a chunk see when 3 tokens are cached?",
)
@example(Sequence(tokens([0, 0]), tokens([0, 0]), tokens([0, 1]), (2,)))
@example(Sequence(tokens([0, 0, 0]), tokens([0, 0, 0]), tokens([0, 0, 1]), (1, 2)))
@example(LONG)
@given(sequences(batch=(1, 1), length=(2, 7), size=(2, 3), most_cuts=2, sharp=True))
def test_a_query_sees_the_keys_up_to_its_own_position(candidate, sequence):
    """a query sees the keys up to its own position, and none after it"""
    check_chunks(candidate, sequence, coarse=True)


LONG_PAST = 10_000  # above the usual windows; a mask of all its pairs still has room


@behaviour(
    "R3",
    why="The first tokens are the instructions. A window or a tile that is lost on the way drops "
    "them in long conversations alone, which no short test has.",
    ask="What in this code depends on how long the past is?",
    examples=0.1,
)
@example(0)
@given(st.integers(0, LONG_PAST - 1))
def test_a_long_past_is_seen_whole(candidate, position):
    """of a past of 10,000 tokens every one is seen"""
    # heads of size one and the last slot are cases of their own
    past = made(
        f"(torch.arange({LONG_PAST}) == {position}).float().reshape(1, 1, {LONG_PAST}, 1)"
        ".repeat(1, 1, 1, 2)"
    )
    q, new = made("torch.full((1, 1, 2, 2), 40.0)"), made("torch.zeros(1, 1, 2, 2)")
    program = candidate.program()
    cache = program.KVCache(1, 1, LONG_PAST + 3, 2)
    cache.update(past, past)
    reply = program.attention(q, new, new, cache)
    program.run()
    assert cache.value is not None
    out = tensor(reply.value, shape=q.shape, dtype=torch.float32, what="an output", at=reply)
    what = f"the value of token {position}, whose key alone the queries ask for"
    close(out, torch.ones(q.shape), COARSE, what=what, at=reply)


@invariant(
    "R5",
    why="A server cuts prompts to fit its token budget, differently at every load. If the cut "
    "shows in the output, the same request gives different text on a busy day.",
    ask="What has to be known, besides the chunk, to place its queries?",
    examples=0.5,
)
@example(Sequence(tokens([0, 0]), tokens([0, 0]), tokens([1, 0]), (1, 1)))
@example(Sequence(tokens([0] * 4), tokens([0] * 4), tokens([1, 0, 0, 2]), (2, 2)))
@example(Sequence(tokens([0] * 5), tokens([0] * 5), tokens([1, 0, 0, 2, 0]), (1, 3, 1)))
@given(sequences(kv_heads=(1, 2), group=(1, 2), length=(2, 8), most_cuts=5))
def test_any_cut_into_chunks_gives_what_one_pass_gives(candidate, sequence):
    """any way of cutting a sequence into chunks gives what one pass gives"""
    one_pass = own(candidate, replace(sequence, cuts=(sequence.k.shape[2],)))
    outputs = run_chunks(candidate, sequence)
    check_repeats(one_pass, sequence, outputs, "that one pass gives")


# What the cache holds


@dataclass(frozen=True, slots=True)
class Looks:
    """What a cache shows of itself at one moment: planned replies."""

    k: Reply
    v: Reply
    length: Reply

    def state(self) -> tuple[Any, Any, Any]:
        return self.k.value, self.v.value, self.length.value


def look(program: Program, cache: Reply) -> Looks:
    with program.probing():
        return Looks(cache.read("k"), cache.read("v"), cache.read("length"))


def check_cached(looks: Looks, sequence: Sequence, stop: int) -> None:
    """The first `stop` slots hold the first `stop` tokens, bit for bit."""
    length = looks.length.value
    plain = int(length) if isinstance(length, Tensor) and length.numel() == 1 else length
    holds(type(plain) is int and plain == stop, f"length {stop}", f"length {plain}",
          at=looks.length)  # fmt: skip
    b, heads, _, d = sequence.k.shape
    shape = (b, heads, sequence.max_len, d)
    for name, reply, whole in (("k", looks.k, sequence.k), ("v", looks.v, sequence.v)):
        got = tensor(reply.value, shape=shape, dtype=whole.dtype, what=name, at=reply)
        check_same(got[:, :, :stop], whole[:, :, :stop], what=f"{name}[:, :, :{stop}]", at=reply)


def check_same(got: Tensor, wanted: Tensor, *, what: str, at: Reply) -> None:
    close(got, wanted, 0.0, what=f"{what} bit for bit", at=at)


@invariant(
    "R1",
    why="A token's keys are computed once and read at every later step. One slot that moves or is "
    "written twice changes the past of the whole request.",
    ask="Which call decides where the next token goes, and which state does it rest on?",
    examples=0.5,
)
@example(Sequence(tokens([0, 0]), tokens([1, 2]), tokens([3, 4]), (1, 1)), [True, True])
@example(Sequence(tokens([0] * 3), tokens([1, 2, 3]), tokens([4, 5, 6]), (1, 2)), [True, False])
@example(Sequence(*alike(1, 2, 3, dtype=torch.float16), (2, 1)), [False, True])
@given(sequences(kv_heads=(1, 2), group=(1, 2), length=(1, 6), most_cuts=4, dtypes=FLOATS,
                 size=(2, 2)), st.lists(st.booleans(), min_size=4, max_size=4))  # fmt: skip
def test_new_keys_land_at_the_length_and_nothing_before_moves(candidate, sequence, by_update):
    """new keys and values land at the length, and nothing before them moves"""
    program = candidate.program()
    cache = cache_for(program, sequence)
    seen = [look(program, cache)]
    updated: dict[int, Reply] = {}
    for (start, stop), update in zip(sequence.spans(), by_update, strict=False):
        if update:
            updated[stop] = cache.update(*sequence.part(start, stop)[1:])
        else:
            attend(program, cache, sequence, start, stop)
        seen.append(look(program, cache))
    program.run()
    assert cache.value is not None
    for stop, looks in zip([0, *(stop for _, stop in sequence.spans())], seen, strict=True):
        if stop in updated:
            check_returned(updated[stop], sequence, stop)
        check_cached(looks, sequence, stop)


def check_returned(reply: Reply, sequence: Sequence, stop: int) -> None:
    """`update` gives all that is cached so far."""
    pair = reply.value
    holds(isinstance(pair, (tuple, list)) and len(pair) == 2, "a tuple of keys and values",
          f"{pair!r:.80}", at=reply)  # fmt: skip
    for name, got, whole in zip(("keys", "values"), pair, (sequence.k, sequence.v), strict=True):
        wanted = whole[:, :, :stop]
        got = tensor(got, shape=wanted.shape, dtype=whole.dtype, what=name, at=reply)
        check_same(got, wanted, what=name, at=reply)


@invariant(
    "R6",
    why="A slot that was used by an earlier request, or never, holds anything. If it counts, the "
    "output depends on who ran before, and one NaN there silences the request for good.",
    ask="Why is a weight of zero not enough to hide a slot?",
    examples=0.5,
)
@example(Sequence(tokens([0]), tokens([0]), tokens([1]), (1,)), math.nan)
@example(Sequence(tokens([0, 0]), tokens([0, 0]), tokens([1, 1]), (1, 1)), math.inf)
@example(Sequence(tokens([0]), tokens([0]), tokens([1]), (1,)), -1e30)
@given(sequences(kv_heads=(1, 2), group=(1, 2), length=(1, 5), most_cuts=3, spare=4),
       st.sampled_from([math.nan, math.inf, -math.inf, 1e30]))  # fmt: skip
def test_slots_past_the_length_never_matter(candidate, sequence, poison):
    """what lies in the slots past the length never matters, whatever it is"""
    unpoisoned = own(candidate, sequence)
    candidate.begin_example()
    program = candidate.program()
    cache = cache_for(program, sequence)
    outputs = []
    for start, stop in sequence.spans():
        for name in ("k", "v"):
            slots = torch.arange(start, sequence.max_len)
            cache.read(name).call("index_fill_", 2, slots, poison)
        outputs.append(attend(program, cache, sequence, start, stop))
    program.run()
    assert cache.value is not None
    check_repeats(unpoisoned, sequence, outputs, f"that it gives without {poison} in those slots")


@invariant(
    "R7",
    why="One user's prompt must not reach another's answer. Where rows meet, an extreme request "
    "takes the whole batch down with it.",
    ask="Which operations of this code reduce over more than one row?",
    examples=0.5,
)
@example(
    Sequence(rows_of([[20]], [[-20]]), rows_of([[10]], [[10]]), rows_of([[1]], [[2]]), (1,)),
    [0] * 4,
)
@example(
    Sequence(
        rows_of([[0, 9]], [[0, 9]]), rows_of([[0, 9]], [[9, 0]]), rows_of([[0, 1]], [[0, 1]]), (2,)
    ),
    [0] * 4,
)
@given(sequences(batch=(2, 3), kv_heads=(1, 2), length=(1, 4), most_cuts=2),
       st.lists(st.sampled_from([0, 3, 6]), min_size=3, max_size=3))  # fmt: skip
def test_rows_of_a_batch_are_independent(candidate, sequence, powers):
    """each row of a batch gets what it gets alone"""
    loud = torch.tensor([2.0**power for power in powers])[: len(sequence.q), None, None, None]
    sequence = replace(sequence, q=sequence.q * loud)
    alone = [own(candidate, sequence.row(row)) for row in range(len(sequence.q))]
    outputs = run_chunks(candidate, sequence)
    check_repeats(torch.cat(alone), sequence, outputs, "that each row gets alone")


@invariant(
    "R7",
    why="A server has one cache a layer and a set of them a request. Two that share a buffer or a "
    "length write into each other, and only under load.",
    ask="What is created when the class is read, and what when an instance is?",
    examples=0.5,
)
@example(*[Sequence(tokens([0]), tokens([n]), tokens([n]), (1,)) for n in (1, 2)])
@given(sequences(length=(2, 3), size=(2, 2), batch=(1, 1), most_cuts=2),
       sequences(length=(2, 3), size=(2, 2), batch=(1, 1), most_cuts=2))  # fmt: skip
def test_two_caches_share_nothing(candidate, one, other):
    """two caches share nothing"""
    both = one, other
    alone = [own(candidate, sequence) for sequence in both]
    candidate.begin_example()
    program = candidate.program()
    caches = [cache_for(program, sequence) for sequence in both]
    outputs: list[list[Reply]] = [[], []]
    for turn in range(max(len(one.cuts), len(other.cuts))):
        for sequence, cache, out in zip(both, caches, outputs, strict=True):
            if turn < len(sequence.cuts):
                out.append(attend(program, cache, sequence, *sequence.spans()[turn]))
    seen = [look(program, cache) for cache in caches]
    program.run()
    assert all(cache.value is not None for cache in caches)
    for sequence, wanted, out, looks in zip(both, alone, outputs, seen, strict=True):
        check_cached(looks, sequence, sequence.k.shape[2])
        check_repeats(wanted, sequence, out, "that a cache alone gives")


# What is refused

B, HEADS, D, T = 2, 2, 3, 2  # of the calls below; two query heads read each KV head
GOOD = {"q": (B, 2 * HEADS, T, D), "k": (B, HEADS, T, D), "v": (B, HEADS, T, D)}
BAD_PAIRS = (  # keys and values that the cache cannot take
    {"v": (B, HEADS, 1, D)},
    {"v": (1, HEADS, T, D)},
    {"v": (B, 1, T, D)},
    {"v": (B, HEADS, T, 1)},
    {"k": (B, HEADS, 1, D)},
    {"k": (1, HEADS, T, D), "v": (1, HEADS, T, D)},
    {"k": (B, 1, T, D), "v": (B, 1, T, D)},
    {"k": (B, HEADS, T, 1), "v": (B, HEADS, T, 1)},
    {"k": (B, HEADS, T, D + 1), "v": (B, HEADS, T, D + 1)},
    {"k": (HEADS, T, D), "v": (HEADS, T, D)},
    {"k": (1, B, HEADS, T, D), "v": (1, B, HEADS, T, D)},
)
BAD_QUERIES = (
    {"q": (B, 2 * HEADS - 1, T, D)},
    {"q": (B, 1, T, D)},
    {"q": (B, 2 * HEADS, 1, D)},
    {"q": (B, 2 * HEADS, T + 1, D)},
    {"q": (1, 2 * HEADS, T, D)},
    {"q": (B, 2 * HEADS, T, 1)},
    {"q": (B, 2 * HEADS, T, D + 1)},
    {"q": (2 * HEADS, T, D)},
)
TOO_LONG = {"q": (B, 2 * HEADS, 4, D), "k": (B, HEADS, 4, D), "v": (B, HEADS, 4, D)}
MAX_LEN = 4  # one slot of it is taken before the call


def refusals() -> Any:
    """Calls that are to be refused: a method's name and its shapes."""
    for shapes in (*BAD_PAIRS, TOO_LONG):
        yield "update", {**GOOD, **shapes}
        yield "attention", {**GOOD, **shapes}
    for shapes in BAD_QUERIES:
        yield "attention", {**GOOD, **shapes}


def refused_call(candidate: Any, method: str, shapes: Any) -> tuple[Reply, Looks, Looks]:
    """One such call on a cache with one token, and looks at the cache before and after."""
    candidate.begin_example()
    program = candidate.program()
    cache = program.KVCache(B, HEADS, MAX_LEN, D)
    one = torch.full((B, HEADS, 1, D), 2.0)
    cache.update(one, one)
    before = look(program, cache)
    q, k, v = (torch.ones(shapes[name]) for name in ("q", "k", "v"))
    call = cache.update(k, v) if method == "update" else program.attention(q, k, v, cache)
    after = look(program, cache)
    program.run()
    assert cache.value is not None
    return call, before, after


@invariant(
    "R9",
    why="A server catches the error and goes on with the batch. If half of the refused chunk is in "
    "the cache by then, every later token of the request is wrong.",
    ask="Which line of the call is the last one that can raise, and what is written before it?",
)
def test_a_refused_call_leaves_the_cache_as_it_was(candidate):
    """a call that raises leaves keys, values and length as they were"""
    for method, shapes in refusals():
        call, before, after = refused_call(candidate, method, shapes)
        if call.ok:
            continue  # whether it is refused is another check's claim
        for name in ("k", "v", "length"):
            was, now = getattr(before, name), getattr(after, name)
            check_unchanged(name, was, now, call)


def check_unchanged(name: str, was: Reply, now: Reply, call: Reply) -> None:
    one, other = was.value, now.value
    if not isinstance(one, Tensor) or not isinstance(other, Tensor):
        holds(one == other, f"{name} {one}, as before the call", f"{name} {other}",
              at=now, also=[call])  # fmt: skip
        return
    if not identical(one, other):
        differ = int(((one != other) & ~(one.isnan() & other.isnan())).sum())
        got = f"{differ} of its {one.numel()} values changed"
        raise Broke(f"{name} as before the call that raised", got, at=now, also=[call])


@edge(
    "R9",
    why="Shapes that disagree are a bug of the caller. Broadcast in silence it becomes one row's "
    "keys in every row's cache.",
    ask="Which of these would torch have spread over a dimension without a word?",
)
def test_shapes_that_do_not_agree_are_refused(candidate):
    """shapes that do not agree are refused with ValueError, even where torch would broadcast"""
    for method, shapes in refusals():
        if shapes["k"] == TOO_LONG["k"]:
            continue
        call, _, _ = refused_call(candidate, method, shapes)
        refused(call, "ValueError")


@edge(
    "R9",
    why="A cache that never gives its last slot ends requests one token early; one that gives a "
    "slot it doesn't have drops the newest token and the model repeats itself.",
    ask="What does the comparison that guards the room say at equality?",
)
@example(1, 1)
@example(4, 1)
@given(st.integers(1, 6), st.integers(1, 3))
def test_the_cache_fills_to_its_last_slot(candidate, max_len, extra):
    """a chunk that fits exactly is taken, and one more token is a ValueError"""
    for method in ("update", "attention"):
        candidate.begin_example()
        whole = tokens([*range(1, max_len + 1)])
        sequence = Sequence(torch.zeros_like(whole), whole, -whole, (max_len - 1, 1), spare=0)
        program = candidate.program()
        cache = cache_for(program, sequence)
        fits = []
        for start, stop in sequence.spans():
            if stop > start:
                fits.append(filling(program, cache, method, sequence.part(start, stop)))
        looks = look(program, cache)
        more = torch.zeros(1, 1, extra, 2)
        over = filling(program, cache, method, (more, more, more))
        program.run()
        assert cache.value is not None
        for reply in fits:
            assert reply.value is not None
        check_cached(looks, sequence, max_len)
        refused(over, "ValueError", wanted=f"ValueError: {max_len} of {max_len} slots are taken")


def filling(program: Program, cache: Reply, method: str, part: Any) -> Reply:
    q, k, v = part
    return cache.update(k, v) if method == "update" else program.attention(q, k, v, cache)


# Unkind inputs


@edge(
    "R8",
    why="Trained models do reach scores of thousands, on the first token most of all. There exp "
    "overflows without its maximum, and a mask that is merely very negative becomes visible.",
    ask="What stands in the mask, and what happens when a score comes near it?",
    examples=0.5,
)
@example(great([0, 200], [0, 100], [0, 1]), 1.0)
@example(great([200, 0], [-100, 100], [0, 1]), 1.0)
@example(great([200, 0], [-100, -100], [0, 1]), 1.0)
@example(great([0, 199, 200], [100, 99, 99], [0, 1, 4]), 1.0)
@given(sequences(batch=(1, 1), size=(4, 4)), st.sampled_from([17.0, 8.0, 4.0]))
def test_scores_of_ten_thousand_are_right(candidate, sequence, times):
    """scores of up to 10,000 in either direction give finite and right outputs"""
    check_chunks(candidate, replace(sequence, q=sequence.q * times, k=sequence.k * times))


@edge(
    "R8",
    why="float16 ends at 65,504 and bfloat16 keeps 8 bits. Scores and weights rounded to them move "
    "probability between tokens, a little more with every layer.",
    ask="Where is the one place at which this code may round to half precision?",
)
@example(Sequence(*alike(1, dtype=torch.bfloat16), (1,)), 0)
@example(halved(torch.bfloat16, [0, 1], [0, -1.5], [-0.375, 1]), 0)
@example(halved(torch.float16, [0, 1], [0, -1.5], [-0.375, 1]), 0)
@example(halved(torch.bfloat16, [0, 3], [100, 101], [1, 0]), 0)
@example(halved(torch.float16, [[0, 0], [300, 300]], [[299, 298], [299.5, 297]], [0, 1], 0.01), 0)
@given(sequences(batch=(1, 1), dtypes=HALVES, size=(2, 5), length=(2, 7)),
       st.sampled_from([0, 16, 64]))  # fmt: skip
def test_half_precision_is_computed_in_float32(candidate, sequence, common):
    """float16 and bfloat16 are computed in float32 and rounded once, at the end"""
    check_last_token(candidate, replace(sequence, k=sequence.k + common))


@edge(
    "R10",
    why="A scheduler may give a request no tokens in a step. A cache that stumbles there takes the "
    "other requests of the batch with it.",
    ask="What is the greatest element of an empty row?",
    examples=0.5,
)
@example(Sequence(*[torch.zeros(1, 1, 0, 2)] * 3, (0,)))
@example(Sequence(*alike(1), (1,)))
@given(sequences(kv_heads=(1, 2), group=(1, 2), length=(0, 3), most_cuts=2))
def test_an_empty_chunk_changes_nothing(candidate, sequence):
    """a chunk of no tokens gives no outputs and changes nothing"""
    without = own(candidate, sequence)
    cuts = (*(cut for size in sequence.cuts for cut in (0, size)), 0)
    sequence = replace(sequence, cuts=cuts)
    outputs = run_chunks(candidate, sequence)
    check_repeats(without, sequence, outputs, "that it gives without the empty chunks")
    candidate.begin_example()
    program = candidate.program()
    cache = cache_for(program, sequence)
    updated = {}
    for start, stop in sequence.spans():
        updated[stop] = cache.update(*sequence.part(start, stop)[1:])
    looks = look(program, cache)
    program.run()
    assert cache.value is not None
    for stop, reply in updated.items():
        check_returned(reply, sequence, stop)
    check_cached(looks, sequence, sequence.k.shape[2])


@edge(
    "R10",
    why="A dimension of one is where a squeeze, a broadcast and a matrix product change meaning.",
    ask="Which dimensions of this code may be 1, and does any line drop one?",
    examples=0.5,
)
@example(Sequence(*[torch.ones(1, 1, 1, 1)] * 3, (1,)))
@given(sequences(batch=(1, 1), size=(1, 1)))
def test_heads_of_size_one_work(candidate, sequence):
    """heads of size 1 work like any other"""
    check_last_token(candidate, sequence)


@edge(
    "R11",
    why="The caller still needs its queries, for the next layer's residual or for a second look. "
    "Scaled in place they are wrong only there, far from this function.",
    ask="When does a conversion to float32 give the same tensor back?",
    examples=0.5,
    arguments=True,
)
@example(Sequence(*alike([1, 2], [3, 4]), (2,)))
@given(sequences(kv_heads=(1, 2), group=(1, 2), length=(1, 4), most_cuts=2, dtypes=FLOATS))
def test_arguments_are_left_as_they_were(candidate, sequence):
    """queries, keys and values are left as they were"""
    program = candidate.program()
    cache = cache_for(program, sequence)
    outputs = [attend(program, cache, sequence, *span) for span in sequence.spans()]
    program.run()
    assert all(reply.value is not None for reply in (cache, *outputs))


@edge(
    "R11",
    why="A projection gives [B, T, H, D] and is transposed for attention, so the real inputs are "
    "never contiguous. Code that was only tried on fresh tensors raises on the first request.",
    ask="Which operations of this code need their input in one piece?",
    examples=0.5,
)
@example(Sequence(*[torch.arange(16.0).reshape(2, 2, 2, 2)] * 3, (2,)), transposed)
@given(sequences(batch=(2, 2), kv_heads=(2,), group=(1, 2), size=(2, 3), length=(2, 3)),
       st.sampled_from([transposed, sliced, expanded]))  # fmt: skip
def test_strided_arguments_give_the_same_answer(candidate, sequence, layout):
    """arguments of any strides give the same answer"""
    q, k, v = (layout(x) for x in (sequence.q, sequence.k, sequence.v))
    plain = replace(sequence, q=q.contiguous(), k=k.contiguous(), v=v.contiguous())
    in_one_piece = own(candidate, plain)
    candidate.begin_example()
    program = candidate.program()
    cache = cache_for(program, sequence)
    out = program.attention(q, k, v, cache)
    looks = look(program, cache)
    program.run()
    assert cache.value is not None
    check_repeats(in_one_piece, plain, [out], "of the same values in one piece")
    check_cached(looks, plain, k.shape[2])
