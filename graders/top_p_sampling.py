"""What top-p filtering and sampling must hold: the filter exactly, the sampler by counting.

The oracle adds up, in float64 and token by token, the mass of what is strictly more probable.
Tokens whose mass above is within MARGIN of p are left alone. Counts are of 65,536 draws: a check
raises a false alarm with a chance of at most 1e-9, and an error of 0.024 in a probability of 0.5,
0.015 in one of 0.1 or 0.006 in one of 0.01 is found with a chance of at least 0.999
(harness.suite.statistics.smallest_bias). The rows of such a call are one row expanded.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from hypothesis import assume, example, given
from hypothesis import strategies as st

from harness.suite import Broke, behaviour, edge, equal, invariant, refused
from harness.suite.layouts import each, expanded, sliced, transposed
from harness.suite.statistics import expect_draws, expect_scatter, tally
from harness.suite.tensors import made
from harness.suite.tolerance import tensor

DRAWS = 65_536
FEWER = 0.3
COUNTED = 0.04  # share of the examples for checks that count: each example is 65,536 draws
MARGIN = 2e-6  # the statement leaves 1e-6 about the cut alone; fp32 may cost the rest
LONG_MARGIN = 1e-4  # over a long vocabulary torch's own fp32 softmax is off by 5e-5
TINY = 2.0**-125  # fp32 holds 2^-126; one bit is left for its roundings
INF = math.inf
ENDS = {2313: "0", 2918: "1 - 2^-24"}  # torch.rand(4096, 1) holds this value under this seed

Row = tuple[float, ...]  # logits


# rows, and what p keeps of them


def rows(min_vocab: int = 1, max_vocab: int = 8) -> st.SearchStrategy[Row]:
    """Logits on a grid, so that ties are common and everything else is far apart."""
    steps = st.one_of(st.integers(-2, 2), st.integers(-32, 32))
    row = st.lists(steps.map(lambda n: n / 2), min_size=min_vocab, max_size=max_vocab)
    return row.map(tuple)


def rows_without_ties(min_vocab: int = 1) -> st.SearchStrategy[Row]:
    steps = st.integers(-16, 16).map(lambda n: n / 2)
    return st.lists(steps, min_size=min_vocab, max_size=8, unique=True).map(tuple)


def with_an_order(row: Row) -> st.SearchStrategy[tuple[Row, list[int]]]:
    return st.tuples(st.just(row), st.permutations(range(len(row))))


def shares() -> st.SearchStrategy[float]:
    """p: common values, any value, and both ends."""
    common = st.integers(1, 20).map(lambda n: n / 20)
    ends = st.sampled_from([1e-9, 1e-4, 1 - 1e-4, 1.0])
    return st.one_of(common, st.floats(0.001, 1.0), ends)


def softmax(row: Row, temperature: float = 1.0) -> list[float]:
    largest = max(row)
    weights = [math.exp((logit - largest) / temperature) for logit in row]
    return [weight / math.fsum(weights) for weight in weights]


def mass_above(row: Row, temperature: float = 1.0) -> list[float]:
    """For each token the mass of the tokens strictly more probable than it."""
    probs = softmax(row, temperature)
    return [
        math.fsum(q for q, other in zip(probs, row, strict=True) if other > logit) for logit in row
    ]


def must_keep(row: Row, p: float, temperature: float = 1.0) -> list[bool | None]:
    """Whether each token stays; None where the statement does not say."""
    probs, above = softmax(row, temperature), mass_above(row, temperature)
    return [verdict(q, mass, p) for q, mass in zip(probs, above, strict=True)]


def verdict(probability: float, above: float, p: float) -> bool | None:
    if probability == 0:
        return False
    if above == 0:
        return True
    if probability < TINY or (p < 1 and abs(above - p) <= MARGIN):
        return None
    return p == 1 or above < p


def law_of(row: Row, p: float, temperature: float = 1.0) -> dict[int, float]:
    """What `sample` draws from; rows with a token near the cut are not for counting."""
    above = mass_above(row, temperature)
    assume(p == 1 or all(abs(mass - p) > 1e-3 for mass in above))
    kept = [
        q if p == 1 or mass < p else 0.0
        for q, mass in zip(softmax(row, temperature), above, strict=True)
    ]
    return {token: q / math.fsum(kept) for token, q in enumerate(kept)}


def rounding(row: Row, token: int) -> float:
    """fp32's relative error: an exponent rounded as a logit is, then a few more operations."""
    far = max(abs(logit) for logit in row if math.isfinite(logit)) + max(row) - row[token]
    return 2.0**-23 * (16 + far)


# calls


def filtered(candidate: Any, logits: torch.Tensor, p: Any) -> tuple[list[list[float]], Any]:
    """Rows of probabilities, and the reply."""
    reply = candidate.attempt("top_p_filter", logits, p)
    return answered(reply).tolist(), reply


def answered(reply: Any) -> torch.Tensor:
    """The probabilities of one answer, once they have the right form."""
    shape = reply.asked.args[0].shape
    return tensor(reply.value, shape=shape, dtype=torch.float32, what="probabilities", at=reply)


def sampled(
    candidate: Any, logits: torch.Tensor, seed: int = 0, **how: Any
) -> tuple[torch.Tensor, Any]:
    """One token a row, drawn with a generator of this seed, and the reply."""
    program = candidate.program()
    reply = program.sample(logits, **how, generator=program.generator(seed))
    program.run()
    return drawn_tokens(reply)


def drawn_tokens(reply: Any) -> tuple[torch.Tensor, Any]:
    """The indices of one answer, once they are one integer a row."""
    logits, value = reply.asked.args[0], reply.value
    whole = isinstance(value, torch.Tensor) and not value.is_floating_point()
    if not whole or value.dtype == torch.bool or list(value.shape) != [len(logits)]:
        form = (value.dtype, list(value.shape)) if isinstance(value, torch.Tensor) else value
        raise Broke(f"{len(logits):,} token indices, shape [{len(logits)}]", worded(form), at=reply)
    return value.long(), reply


def worded(form: Any) -> str:
    return f"{form[0]} of shape {form[1]}" if isinstance(form, tuple) else f"{form}"


def many(row: Row, count: int = DRAWS) -> torch.Tensor:
    """The same row `count` times, without the bytes."""
    return torch.tensor([row]).expand(count, len(row))


# what is kept


def expect_kept(got: list[float], wanted: list[bool | None], row: Row, p: float, at: Any,
                which: str = "") -> None:  # fmt: skip
    """Break at the first token that is kept and should not be, or the reverse."""
    for token, keep in enumerate(wanted):
        if keep is None or keep == (got[token] > 0):
            continue
        above = mass_above(row)[token]
        side = "below" if keep else "not below"
        raise Broke(
            f"token {token}{which} {'kept' if keep else 'dropped'}: the mass above it, "
            f"{above:.6g}, is {side} p = {p:.6g}",
            f"{got[token]:.6g} for it",
            at=at,
        )


@invariant(
    "R1",
    why="One token too few and the tail that makes text alive is gone; one too many and the "
    "junk that top-p is there to stop comes through. Both pass for a taste of the model.",
    ask="Does a token's own mass count towards p, and which of the two readings is yours?",
)
@example((0.0, -2.0), 0.5)
@example((0.0, -0.5, -1.0), 0.75)
@given(rows_without_ties(), shares())
def test_a_token_stays_while_the_mass_above_is_below_p(candidate, row, p):
    """a token is kept when the mass of the strictly more probable ones is below p"""
    [got], reply = filtered(candidate, torch.tensor([row]), p)
    expect_kept(got, must_keep(row, p), row, p, reply)


@invariant(
    "R1",
    why="Of two equally probable tokens one is then drawn and the other never, by where they "
    "stand in the vocabulary. The next tokenizer version changes the text.",
    ask="What does your sort do with equal values, and does the result depend on it?",
)
@example((0.0, 0.0), 0.25)
@example((0.0, 0.0, 0.0, 2.0), 0.8)
@example((0.0, -0.0, 1.0), 0.6)
@given(rows(2), shares())
def test_equal_logits_are_kept_or_dropped_together(candidate, row, p):
    """tokens of equal logit are kept or dropped together"""
    [got], reply = filtered(candidate, torch.tensor([row]), p)
    for logit in sorted(set(row), reverse=True):
        alike = [token for token, other in enumerate(row) if other == logit]
        kept = [token for token in alike if got[token] > 0]
        if kept and len(kept) < len(alike):
            raise Broke(f"tokens {alike} together", f"only {kept} kept", at=reply)


@invariant(
    "R1",
    why="A mask in sorted order laid over unsorted tokens keeps the first of the vocabulary, "
    "not the likely ones. The text turns to noise, more so with a large vocabulary.",
    ask="Where does your code go from sorted order back to the vocabulary's?",
)
@example(((0.0, 2.0), [1, 0]), 0.5)
@given(rows_without_ties(2).flatmap(with_an_order), shares())
def test_the_order_of_the_vocabulary_does_not_matter(candidate, permuted, p):
    """permuting the vocabulary permutes what is kept"""
    row, order = permuted
    logits = torch.tensor([row])
    program = candidate.program()
    replies = [program.top_p_filter(logits, p), program.top_p_filter(logits[:, order], p)]
    program.run()
    one, other = (answered(reply)[0].tolist() for reply in replies)
    decided = must_keep(row, p)
    for place, token in enumerate(order):
        if decided[token] is not None and (one[token] > 0) != (other[place] > 0):
            kept = "kept" if one[token] > 0 else "dropped"
            raise Broke(
                f"token {place} {kept}, as before the permutation, where it was token {token}",
                f"{other[place]:.6g} for it",
                at=replies[1],
                also=[replies[0]],
            )


@invariant(
    "R1",
    why="A confident model and a small p leave nothing: the probabilities are 0 / 0, and the "
    "server fails exactly where the model was surest.",
    ask="Which token can never be dropped, and which line of the code says so?",
)
@example((0.0,), 0.5)
@example((0.0, 4.0), 1e-300)
@given(rows(), st.sampled_from([1e-300, 1e-46, 1e-30, 1e-9, 0.01, 0.3]))
def test_the_most_probable_token_stays(candidate, row, p):
    """the most probable token, and all that tie for it, stay however small p is"""
    [got], reply = filtered(candidate, torch.tensor([row]), p)
    for token, logit in enumerate(row):
        if logit == max(row) and not got[token] > 0:
            raise Broke(f"token {token} kept: none is more probable", f"{got[token]:.6g} for it",
                        at=reply)  # fmt: skip


@behaviour(
    "R2",
    why="Kept probabilities that don't sum to 1, or not in proportion, are another "
    "distribution; a draw by running sums then falls off the end.",
    ask="By what is each kept probability divided, and does the ratio of two of them change?",
)
@example((0.0, -2.0), 0.5)
@example((0.0, -0.5, -1.0, -3.0), 0.7)
@given(st.lists(st.floats(-20, 20, width=32), min_size=1, max_size=8).map(tuple), shares())
def test_kept_probabilities_are_renormalised(candidate, row, p):
    """the kept probabilities are divided by their sum, the rest is exactly 0"""
    [got], reply = filtered(candidate, torch.tensor([row]), p)
    expect_proportion(got, row, reply)


def expect_proportion(got: list[float], row: Row, at: Any, which: str = "") -> None:
    """The tokens that were kept, whichever, share 1 in proportion to their probabilities."""
    probs = softmax(row)
    total = math.fsum(q for q, value in zip(probs, got, strict=True) if value != 0)
    for token, value in enumerate(got):
        wanted = probs[token] / total if value != 0 and total else 0.0
        if not abs(value - wanted) <= rounding(row, token) * wanted + 2.0**-149:
            raise Broke(
                f"{wanted:.8g} for token {token}{which}",
                f"{value:.8g}, allowed {rounding(row, token) * wanted:.2g}",
                at=at,
            )


@behaviour(
    "R1",
    why="p is the one knob a user has. If turning it down brings tokens back, no setting of it "
    "means anything.",
    ask="Which property of the kept set makes this true for every pair of p?",
)
@example((0.0, -1.0, -2.0), 0.2, 0.8)
@given(rows_without_ties(2), shares(), shares())
def test_a_smaller_p_keeps_a_subset(candidate, row, p, other):
    """a smaller p keeps a subset of what a larger one keeps"""
    smaller, larger = sorted((p, other))
    logits = torch.tensor([row])
    program = candidate.program()
    replies = [program.top_p_filter(logits, p) for p in (smaller, larger)]
    program.run()
    few, more = (answered(reply)[0].tolist() for reply in replies)
    unsure = must_keep(row, larger)
    for token in range(len(row)):
        if few[token] > 0 and not more[token] > 0 and unsure[token] is not None:
            raise Broke(
                f"token {token} kept at p = {larger:.6g}, as at {smaller:.6g}", "dropped",
                at=replies[1], also=[replies[0]],
            )  # fmt: skip


@behaviour(
    "R3",
    why="p = 1 is how a user says no filter. Where rounding cuts the tail, rare tokens (a name, "
    "an emoji, the end of a code block) can't be written at all.",
    ask="What is the largest value your running sum reaches at p = 1, and what follows it?",
)
@example((0.0, -20.0), 3)
@example((0.0, -80.0), 3)
@given(rows(1, 6), st.integers(0, 200))
def test_p_of_1_keeps_every_token(candidate, row, tail):
    """p = 1 keeps every token whose probability fp32 can hold"""
    row = (*row, *(min(row) - step / 8 for step in range(tail)))
    [got], reply = filtered(candidate, torch.tensor([row]), 1.0)
    expect_kept(got, must_keep(row, 1.0), row, 1.0, reply)


@invariant(
    "R3",
    why="-inf is how a grammar, a stop list or a vocabulary's padding forbids a token. One that "
    "comes back breaks the format the caller was promised.",
    ask="Which operations of the code could turn -inf into something finite, or into NaN?",
)
@example((-INF, 0.0), 1.0)
@example((-INF, -20_000.0), 1.0)
@example((-3e38, -INF), 1.0)
@given(st.lists(st.sampled_from([-INF, -3e38, -20_000.0, -3.0, 0.0, 0.5]), min_size=1, max_size=8),
       shares())  # fmt: skip
def test_minus_infinity_is_never_kept(candidate, row, p):
    """a logit of -inf gets probability 0, and the rest is not disturbed"""
    assume(max(row) > -INF)
    [got], reply = filtered(candidate, torch.tensor([row]), p)
    for token, logit in enumerate(row):
        if logit == -INF and got[token] != 0:
            raise Broke(f"0 for token {token}, whose logit is -inf", f"{got[token]:.6g}", at=reply)
        if logit == max(row) and not got[token] > 0:
            raise Broke(f"token {token}, the most probable, kept", f"{got[token]:.6g}", at=reply)


@behaviour(
    "R4",
    why="A server batches users who asked for different p. Each then gets a neighbour's setting, "
    "and nobody can reproduce it alone.",
    ask="Which dimension of p meets which dimension of the probabilities?",
)
@example([((0.0, -1.0), 0.25), ((0.0, -1.0), 1.0)], torch.float32)
@given(
    st.integers(1, 6).flatmap(
        lambda v: st.lists(st.tuples(rows(v, v), shares()), min_size=1, max_size=5)
    ),
    st.sampled_from([torch.float32, torch.float64]),
)
def test_each_row_has_its_own_p(candidate, batch, dtype):
    """a tensor p gives each row its own cut, in top_p_filter and in sample"""
    logits = torch.tensor([row for row, _ in batch])
    p = torch.tensor([share for _, share in batch], dtype=dtype)
    got, reply = filtered(candidate, logits, p)
    tokens, drawing = sampled(candidate, logits, p=p)
    for number, (row, _) in enumerate(batch):
        share = p[number].item()
        wanted, which = must_keep(row, share), f" of row {number}"
        expect_kept(got[number], wanted, row, share, reply, which)
        token = int(tokens[number])
        if not 0 <= token < len(row) or wanted[token] is False:
            kept = [place for place, keep in enumerate(wanted) if keep is not False]
            raise Broke(f"row {number}: one of tokens {kept}", f"token {token}", at=drawing)


# what is drawn


@invariant(
    "R5",
    why="The filter is only as good as the draw behind it. A sampler that leans is never seen "
    "in one text, and in all of them together.",
    ask="How does the draw turn a uniform number into a token, and what does rounding do there?",
    examples=COUNTED,
)
@example((0.0, 0.0, 1.0), 1.0, 0.5, 0)
@example((0.0, -1.0, -2.0), 0.8, 1.0, 0)
@given(rows(2, 6), shares(), st.sampled_from([0.5, 1.0, 2.0]), st.integers(0, 2**31 - 1))
def test_samples_follow_the_filtered_distribution(candidate, row, p, temperature, seed):
    """samples are distributed as the filtered probabilities at their temperature"""
    wanted = law_of(row, p, temperature)
    drawn, reply = sampled(candidate, many(row), seed, p=p, temperature=temperature)
    expect_draws(tally(drawn), wanted, at=reply)


@behaviour(
    "R5",
    why="Hot and top-p 0.9 mean another thing when the filter goes first: the cut no longer "
    "sees the distribution that is drawn from.",
    ask="Which of the two orders keeps more tokens at temperature 2, and which do users expect?",
    examples=COUNTED,
)
@example((0.0, -1.0), 0.7, 2.0)
@example((0.0, -0.5), 0.7, 0.25)
@given(rows(2, 5), shares(), st.sampled_from([0.25, 0.5, 2.0, 4.0]))
def test_temperature_comes_before_the_filter(candidate, row, p, temperature):
    """the filter sees the probabilities at the temperature that was asked for"""
    wanted = law_of(row, p, temperature)
    drawn, reply = sampled(candidate, many(row), p=p, temperature=temperature)
    counts = tally(drawn)
    for token, probability in wanted.items():
        count = counts.get(token, 0)
        if (probability == 0 and count) or (probability > 0.001 and not count):
            raise Broke(
                f"token {token} with probability {probability:.4g} at temperature {temperature}",
                f"token {token} drawn {count:,} times in {DRAWS:,}",
                at=reply,
            )


@invariant(
    "R5",
    why="Users who share a batch then share their luck: the same prompt gives all of them the "
    "same answer, and no average over rows shows it.",
    ask="Where in the code does each row get a random number of its own?",
    examples=COUNTED,
)
@example((0.0, 0.0), 0)
@given(rows(2, 4), st.integers(0, 2**31 - 1))
def test_each_row_is_an_independent_draw(candidate, row, seed):
    """two rows of a batch are drawn independently, next to each other or far apart"""
    one = law_of(row, 1.0)
    drawn, reply = sampled(candidate, many(row), seed)
    for pairs, apart in ((drawn.reshape(-1, 2), 1), (drawn.reshape(2, -1).T, DRAWS // 2)):
        expect_draws(
            tally(pairs),
            {(a, b): one[a] * one[b] for a in one for b in one},
            outcome="tokens {}",
            where=f" in rows {apart:,} apart",
            at=reply,
        )


BATCHES, COINS = 64, 1024  # one coin a row


@edge(
    "R5",
    why="Numbers spread evenly over the batch save one user's luck by spending another's: what a "
    "row draws then depends on who else is in the batch.",
    ask="What would show that the rows of one call know of each other, when each is right alone?",
    examples=COUNTED,
)
@example(0)
@given(st.integers(0, 2**31 - 1))
def test_rows_do_not_make_up_for_each_other(candidate, seed):
    """what the rows of a batch draw scatters as independent draws do"""
    program = candidate.program()
    generator = program.generator(seed)
    coins = many((0.0, 0.0), COINS)
    answers = [program.sample(coins, generator=generator) for _ in range(BATCHES)]
    program.run()
    heads = [int((drawn_tokens(answer)[0] == 0).sum()) for answer in answers]
    where = f" among token 0 in {BATCHES} calls of {COINS:,} rows"
    expect_scatter(heads, COINS, where=where, at=answers[0])


@behaviour(
    "R6",
    why="Temperature 0 is how people ask for the same answer twice. A division by it is inf or "
    "NaN, and a tie broken by chance is another answer tomorrow.",
    ask="What should a temperature of 1e-30 do that 0 does not?",
    examples=FEWER,
)
@example((0.0, 1.0, 1.0), 1.0, 2)
@example((0.0, 1.0), 0.5, 1)
@example((1.0, 1.0 + 2.0**-20), 1.0, 1)
@given(rows(1, 6), shares(), st.integers(1, 4))
def test_temperature_0_is_the_first_of_the_largest(candidate, row, p, copies):
    """temperature 0 is the first of the row's largest logits, whatever p is"""
    batch = [row, row[::-1]] * copies
    drawn, reply = sampled(candidate, torch.tensor(batch), p=p, temperature=0.0)
    wanted = [each_row.index(max(each_row)) for each_row in batch]
    equal(drawn.tolist(), wanted, at=reply)


# the generator, and the arguments

PLENTY = torch.tensor([[n / 8 for n in range(16)]]).expand(64, 16)  # never equal by accident


@behaviour(
    "R7",
    why="A run that can't be repeated can't be debugged, and ranks that must draw the same token "
    "drift apart.",
    ask="Which calls in the code draw random numbers, and which generator does each use?",
    examples=COUNTED,
)
@example(0)
@given(st.integers(0, 2**31 - 1))
def test_the_same_seed_gives_the_same_tokens(candidate, seed):
    """two generators of one seed give one result, whatever else was drawn before"""
    program = candidate.program()
    program.seed_global(1)
    first = program.sample(PLENTY, generator=program.generator(seed))
    program.seed_global(2)
    program.sample(PLENTY[:3, :5], p=0.5)
    second = program.sample(PLENTY, generator=program.generator(seed))
    program.run()
    same(first, second, True, "a second generator of the same seed")


@behaviour(
    "R7",
    why="A generator that stands still gives every step the same luck: the text falls into a "
    "loop that no test of one call shows.",
    ask="Whose state advances when generator is None, and who else draws from it?",
    examples=COUNTED,
)
@example(0)
@given(st.integers(0, 2**31 - 1))
def test_a_generator_goes_on_where_it_stopped(candidate, seed):
    """a second call with the same generator, or with None, goes on from where the first stopped"""
    program = candidate.program()
    generator, again = program.generator(seed), program.generator(seed)
    first, second = (program.sample(PLENTY, generator=generator) for _ in range(2))
    _, repeated = (program.sample(PLENTY, generator=again) for _ in range(2))
    program.seed_global(seed)
    third, fourth = (program.sample(PLENTY) for _ in range(2))
    program.seed_global(seed)
    fifth = program.sample(PLENTY, generator=None)
    program.run()
    same(first, second, False, "the second call with one generator")
    same(second, repeated, True, "the second call after the same seed")
    same(third, fourth, False, "the second call without a generator")
    same(third, fifth, True, "a call after torch.manual_seed with the same seed")


def same(one: Any, other: Any, wanted: bool, what: str) -> None:
    """Break unless two answers are equal, or differ, as wanted."""
    (left, _), (right, _) = drawn_tokens(one), drawn_tokens(other)
    differ = int((left != right).sum())
    if bool(differ) == wanted:
        raise Broke(
            f"{what}: {'the same' if wanted else 'another'} result",
            f"{differ} of {len(left)} rows differ",
            at=other,
            also=[one],
        )


@invariant(
    "R8",
    why="The logits are read again for log-probabilities and penalties. Changed in place they "
    "are wrong for whoever comes after.",
    ask="Which operations of the code write into a tensor that the caller still holds?",
    examples=FEWER,
    arguments=True,
)
@example((1.0, 2.0), 0.5)
@given(rows(), shares())
def test_the_arguments_stay_as_they_were(candidate, row, p):
    """neither function changes its logits or its p"""
    logits, p = torch.tensor([row, row]), torch.tensor([p, p])
    filtered(candidate, logits, p)
    sampled(candidate, logits, p=p, temperature=0.5)
    sampled(candidate, logits, p=p, temperature=0.0)


# legal but unkind


@edge(
    "R1",
    why="Which side of the cut equality falls on is a convention; engines differ in it, and so "
    "do their outputs for a token that stands exactly there.",
    ask="Is a running sum that equals p below it, and where does your code decide that?",
)
@example(2)
@given(st.integers(2, 10))
def test_a_mass_equal_to_p_is_not_below_it(candidate, size):
    """where probabilities are powers of two, a mass equal to p is not below p"""
    probs = [2.0**-n for n in range(1, size + 1)] + [2.0**-size]
    logits = torch.tensor([probs]).log()
    for cut in range(1, size):  # the last two tie
        p = math.fsum(probs[:cut])
        [got], reply = filtered(candidate, logits, p)
        kept = [token for token, value in enumerate(got) if value > 0]
        equal(kept, list(range(cut)), what=f"kept at p = {p:.6g}", at=reply)


SHUFFLED = "[torch.randperm(131072, generator=torch.Generator().manual_seed(0))][None]"
TAILS = {  # logits of 131,072 tokens, before they are shuffled
    "slope": "(-torch.arange(131072) / 8192)",
    "gentle slope": "(-torch.arange(131072) / 65536)",
    "plateau": "(-torch.arange(-99000, 32072) / 8192).where(torch.arange(131072) > 99999, 0)",
    "steps": "(-(torch.arange(131072) // 4096) / 8)",
    "one head": "(torch.arange(131072) == 0).float().mul(16)",
    "flat": "torch.zeros(131072)",
    "half masked": "(-torch.arange(131072) / 16384).where(torch.arange(131072) % 2 == 0, -inf)",
}


@edge(
    "R8",
    why="Added one by one in fp32, 131,072 masses end at 0.9998 or 1.001, so thousands of tokens "
    "are kept or dropped by rounding, for the longest tails.",
    ask="How large is the error of a running sum of n terms, in fp32 and in float64?",
    examples=COUNTED,
)
@each([(tail, 0.75) for tail in TAILS])
@given(st.tuples(st.sampled_from(list(TAILS)), st.floats(0.01, 0.9999)))
def test_masses_are_right_over_a_long_tail(candidate, case):
    """over 131,072 tokens the cut is where the exact masses put it"""
    tail, p = case
    row = made(TAILS[tail] + SHUFFLED)
    logits = made(f"{row.source}.expand(3, 131072)")
    p = torch.tensor([p, 0.99, 1.0])
    program = candidate.program(echo=False)
    reply = program.top_p_filter(logits, p)
    program.run()
    got, above = answered(reply), exact_mass_above(row[0].double())
    for number, share in enumerate(p.tolist()):
        expect_cut(got[number], row[0], above, share, reply)


def exact_mass_above(row: torch.Tensor) -> torch.Tensor:
    """The rule, by sums over equal logits in float64."""
    values, group, sizes = row.unique(return_inverse=True, return_counts=True)  # ascending
    weights = (values - values[-1]).exp() * sizes
    mass = weights / weights.sum()
    return (mass.flip(0).cumsum(0).flip(0) - mass)[group]


def expect_cut(
    got: torch.Tensor, row: torch.Tensor, above: torch.Tensor, p: float, at: Any
) -> None:
    """Break at the first token on the wrong side of the cut, and count them all."""
    possible = row > -INF
    missing = possible & ((above < p - LONG_MARGIN) | (p == 1)) & ~(got > 0)
    excess = (~possible | ((above > p + LONG_MARGIN) & (p < 1))) & (got > 0)
    for wrong, wanted in ((missing, "kept"), (excess, "dropped")):
        tokens = wrong.nonzero().flatten().tolist()
        if tokens:
            raise Broke(
                f"token {tokens[0]} {wanted}: the mass above it is {above[tokens[0]]:.6f}",
                f"{float(got[tokens[0]]):.3g} for it, and {len(tokens):,} tokens on the wrong "
                f"side of p = {p:.6g}",
                at=at,
            )
    total = float(got.double().sum())
    if abs(total - 1) > 2 * LONG_MARGIN:
        raise Broke("probabilities that sum to 1", f"a sum of {total:.6g}", at=at)


@edge(
    "R8",
    why="bf16 has eight bits: a running sum stops growing near 1, and probabilities that differ "
    "by half a percent are the same.",
    ask="At which point does your code leave the dtype of the logits, and what is still in it?",
)
@example((0.0, -0.5, -1.0), 0.7, torch.bfloat16)
@given(rows(1, 8), shares(), st.sampled_from([torch.bfloat16, torch.float16]))
def test_half_precision_logits_give_fp32_probabilities(candidate, row, p, dtype):
    """fp16 and bf16 logits give what the same values give in fp32"""
    [got], reply = filtered(candidate, torch.tensor([row], dtype=dtype), p)
    expect_kept(got, must_keep(row, p), row, p, reply)
    expect_proportion(got, row, reply)


COARSE = {torch.bfloat16: 100.0, torch.float16: 1000.0}  # neighbours are 0.5 apart here


@edge(
    "R8",
    why="A logit of 100 divided in bf16 is rounded to a whole number: likely tokens become more "
    "likely, by as much as a tenth.",
    ask="In which dtype is the division by the temperature, and what is lost there at 100?",
    examples=COUNTED / 4,
)
@each(COARSE)
@given(st.sampled_from(list(COARSE)))
def test_half_precision_logits_are_tempered_in_fp32(candidate, dtype):
    """fp16 and bf16 logits are divided by the temperature in fp32 or better"""
    row = (COARSE[dtype] + 0.5, COARSE[dtype])
    drawn, reply = sampled(candidate, many(row).to(dtype)[:1].expand(DRAWS, 2), temperature=0.75)
    expect_draws(tally(drawn), law_of(row, 1.0, 0.75), where=f" from {dtype}", at=reply)


@edge(
    "R8",
    why="A sampler that sorts only the first thousand for speed never says a rare word, and "
    "nobody who asks for p = 1 is told.",
    ask="Which tokens can your sampler draw from a flat row of 131,072?",
    examples=COUNTED / 4,
)
@example(0)
@given(st.integers(0, 2**31 - 1))
def test_a_long_tail_is_drawn_from(candidate, seed):
    """from a row of 131,072 that falls by e^-2 in all, the first 4,096 are drawn 7 % of the time"""
    logits = made("(-torch.arange(131072) / 65536).expand(16, 131072)")
    drawn, reply = sampled(candidate, logits, seed)
    head = int((drawn < 4096).sum())
    share = math.expm1(-4096 / 65_536) / math.expm1(-2)
    expect_draws(
        {"below": head, "from": 16 - head},
        {"below": share, "from": 1 - share},
        outcome="a token {} 4,096",
        at=reply,
    )


@edge(
    "R6",
    why="A division before the maximum is subtracted overflows to inf, inf - inf is NaN, and the "
    "request with temperature 0.0001 takes the batch down.",
    ask="What is the largest intermediate value at temperature 1e-36, and at 1e36?",
    examples=COUNTED,
)
@example((1000.0, 0.0, 1000.0), 1e-36)
@example((1000.0, 0.0, -INF), 1e36)
@given(
    st.lists(st.sampled_from([1e4, 9999.0, 1.0, 0.0, -1e4, -INF]), min_size=2, max_size=5),
    st.sampled_from([1e-36, 1e-20, 1e-6, 1e20, 1e36]),
)
def test_tiny_and_huge_temperatures_are_legal(candidate, row, temperature):
    """a tiny temperature leaves the largest logits, all that tie; a huge one makes all equal"""
    assume(max(row) > -INF)
    drawn, reply = sampled(candidate, many(tuple(row)), p=1.0, temperature=temperature)
    alike = [x == max(row) if temperature < 1 else x > -INF for x in row]
    wanted = {token: same / sum(alike) for token, same in enumerate(alike)}
    expect_draws(tally(drawn), wanted, where=f" at temperature {temperature:g}", at=reply)


@edge(
    "R3",
    why="A uniform in [0, 1) is exactly 0 once in 16 million draws, daily on a busy server. A "
    "look-up from the wrong side then draws a token that was filtered out.",
    ask="Which values can your uniform take, and which token does each end of them find?",
)
@each(ENDS)
@given(st.sampled_from(list(ENDS)))
def test_a_uniform_at_either_end_draws_a_kept_token(candidate, seed):
    """a uniform of exactly 0, or as near 1 as fp32 has it, draws a token that is kept"""
    row = (-INF, *[0.0] * 41, -INF)  # 41 fp32 shares of 1/41 sum to less than 1
    drawn, reply = sampled(candidate, many(row, 4096), seed)
    outside = ((drawn < 1) | (drawn > 41)).nonzero().flatten().tolist()
    if outside:
        got = int(drawn[outside[0]])
        raise Broke(f"row {outside[0]}: one of tokens 1 to 41", f"token {got}", at=reply)


@edge(
    "R8",
    why="Logits arrive as a slice of a padded vocabulary or the last step of a sequence. Read as "
    "if they were dense, they are another row's.",
    ask="Which operations of the code need contiguous memory, and which copy to get it?",
    examples=FEWER,
)
@example([((0.0, 1.0), 1.0), ((2.0, 0.0), 0.5)], sliced)
@given(
    st.integers(1, 5).flatmap(
        lambda v: st.lists(st.tuples(rows(v, v), shares()), min_size=1, max_size=4)
    ),
    st.sampled_from([transposed, sliced, expanded]),
)
def test_strides_do_not_matter(candidate, batch, lay_out):
    """slices, transposes and expanded tensors give what dense tensors give"""
    batch = batch[:1] * len(batch) if lay_out is expanded else batch
    logits = lay_out(torch.tensor([row for row, _ in batch]))
    p = lay_out(torch.tensor([share for _, share in batch]))
    got, reply = filtered(candidate, logits, p)
    drawn, drawing = sampled(candidate, logits, p=p, temperature=0.0)
    for number, (row, _) in enumerate(batch):
        share = p[number].item()
        which = f" of row {number}"
        expect_kept(got[number], must_keep(row, share), row, share, reply, which)
        expect_proportion(got[number], row, reply, which)
        equal(int(drawn[number]), row.index(max(row)), what=f"row {number}", at=drawing)


@edge(
    "R8",
    why="A batch empties between two steps, and a classifier head has a vocabulary of one. A "
    "squeeze too many changes the shape for them alone.",
    ask="Which of your reductions and squeezes would also remove a dimension of size 1?",
    examples=COUNTED,
)
@each([(0, 4), (1, 1), (3, 1), (1, 4)])
@given(st.tuples(st.integers(0, 3), st.integers(1, 4)))
def test_sizes_0_and_1_are_legal(candidate, shape):
    """no rows give no rows, and one row or a vocabulary of one keeps its shape"""
    logits = torch.zeros(shape)
    for p in (0.5, torch.full(shape[:1], 0.5)):
        got, reply = filtered(candidate, logits, p)
        for row in got:
            expect_proportion(row, (0.0,) * shape[1], reply)
        for temperature in (0.0, 1.0):
            drawn, reply = sampled(candidate, logits, p=p, temperature=temperature)
            if ((drawn < 0) | (drawn >= shape[1])).any():
                raise Broke(f"tokens in [0, {shape[1]})", f"{drawn.tolist()}", at=reply)


# refusals

BAD_P = (0.0, -0.1, 1.01, math.nan, INF)
CALLS: dict[str, Callable[..., Any]] = {
    "top_p_filter": lambda program, logits, p: program.top_p_filter(logits, p),
    "sample": lambda program, logits, p: program.sample(logits, p=p),
    "greedy": lambda program, logits, p: program.sample(logits, p=p, temperature=0.0),
}


def expect_refusal(candidate: Any, call: str, logits: Any, p: Any, words: str) -> None:
    program = candidate.program()
    reply = CALLS[call](program, logits, p)
    program.run()
    refused(reply, "ValueError", wanted=f"ValueError: {words}")


@edge(
    "R9",
    why="A NaN compares false with everything, so a sort puts it anywhere and a filter keeps "
    "it. The server answers with token 0, or dies three layers later.",
    ask="What does each comparison of the code say when one side is NaN?",
    examples=FEWER,
)
@each([(call, 1, bad) for call in CALLS for bad in (math.nan, INF, None)])
@given(
    st.tuples(
        st.sampled_from(list(CALLS)), st.integers(0, 2), st.sampled_from([math.nan, INF, None])
    )
)
def test_bad_logits_are_refused(candidate, case):
    """NaN or +inf in a row, and a row of -inf, raise ValueError in both functions"""
    call, row, bad = case
    logits = torch.tensor([[0.0, 1.0, -INF, 2.0]]).repeat(3, 1)
    logits[row, slice(None) if bad is None else 1] = -INF if bad is None else bad
    words = f"row {row} is -inf throughout" if bad is None else f"{bad} in row {row}"
    expect_refusal(candidate, call, logits, 0.9, words)


@edge(
    "R9",
    why="p = 0 keeps nothing, a NaN from a client's JSON keeps what the comparison happens to "
    "say, and a negative temperature turns the model upside down.",
    ask="Where are a request's parameters looked at, and what does NaN do there?",
    examples=FEWER,
)
@each([("sample", bad, None) for bad in (-1.0, -1e-9, math.nan)])
@each([(call, bad, where) for call in CALLS for bad in BAD_P for where in (False, True)])
@given(st.tuples(st.sampled_from(list(CALLS)), st.sampled_from(BAD_P), st.booleans()))
def test_a_bad_p_or_temperature_is_refused(candidate, case):
    """p outside (0, 1] or NaN, in any row, and a temperature below 0 or NaN raise ValueError"""
    call, bad, as_tensor = case
    logits = torch.tensor([[0.0, 1.0, 2.0]]).repeat(3, 1)
    if as_tensor is None:
        reply = candidate.attempt("sample", logits, p=0.9, temperature=bad)
        refused(reply, "ValueError", wanted=f"ValueError: temperature {bad}")
        return
    p = torch.tensor([0.5, bad, 1.0]) if as_tensor else bad
    expect_refusal(candidate, call, logits, p, f"p = {bad}{' in row 1' if as_tensor else ''}")


SHAPES = {  # logits and p: all wrong together, most of them broadcast
    "logits without a batch": ([4], None),
    "logits of three dimensions": ([1, 3, 4], None),
    "one p in a tensor for three rows": ([3, 4], [1]),
    "p for another batch": ([3, 4], [4]),
    "p for the vocabulary": ([3, 4], [3, 4]),
    "p as a column": ([3, 4], [3, 1]),
    "p as a row": ([3, 4], [1, 3]),
    "p for three rows and logits of one": ([1, 4], [3]),
}


@edge(
    "R9",
    why="A p of shape [1] broadcasts to any batch: every user gets the first one's setting, and "
    "nothing raises.",
    ask="Which of the shapes that broadcast would still give an answer of the right shape?",
    examples=FEWER,
)
@each([(call, case) for call in CALLS for case in SHAPES])
@given(st.tuples(st.sampled_from(list(CALLS)), st.sampled_from(list(SHAPES))))
def test_shapes_that_do_not_agree_are_refused(candidate, case):
    """logits that are not [B, V] and a p that is not [B] raise ValueError, broadcast or not"""
    call, words = case
    logits, p = SHAPES[words]
    p = 0.9 if p is None else torch.full(p, 0.9)
    expect_refusal(candidate, call, torch.zeros(logits), p, words)
