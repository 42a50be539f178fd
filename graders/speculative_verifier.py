"""What a speculative verifier must hold: exactly where rows leave no choice, by counting elsewhere.

Counts are of 65,536 draws. A check raises a false alarm with a chance of at most 1e-9; an error of
0.024 in a probability of 0.5, 0.015 in one of 0.1 or 0.006 in one of 0.01 is found with a chance
of at least 0.999 (harness.suite.statistics.smallest_bias). Draft tokens are drawn by the judge;
the rows of a call are one row expanded, so that a call of any size is a few bytes.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import torch
from hypothesis import example, given
from hypothesis import strategies as st

from harness.suite import Broke, behaviour, edge, equal, invariant, refused
from harness.suite.layouts import each, expanded, sliced, transposed
from harness.suite.statistics import expect_draws, expect_scatter, tally
from harness.suite.tensors import made

RECORDS = {"verify": ("tokens", "num_accepted")}
DRAWS = 65_536
FINE_DRAWS = 262_144  # for chances of 2^-12 and 2^-13
SIXTEENTHS = 16  # rows are sixteenths: exact in every dtype, and their sums are
FEWER = 0.3
COUNTED = 0.04  # share of the examples for checks that count: each example is 65,536 draws
LARGE = 131_072  # a vocabulary
HALF = (torch.bfloat16, torch.float16)
DTYPES = (torch.float32, *HALF)
ZERO_SEED, ONE_SEED = 2313, 2918  # torch.rand(4096, 1) has a 0 under one, 1 - 2^-24 under the other

Weights = tuple[int, ...]  # one row of probabilities, in sixteenths


# rows


@dataclass(frozen=True, slots=True)
class Row:
    """One sequence: its draft tokens, K draft rows and K + 1 target rows."""

    drafted: tuple[int, ...]
    draft: tuple[Weights, ...]
    target: tuple[Weights, ...]


def weights(vocab: int) -> st.SearchStrategy[Weights]:
    """A row in sixteenths; zeros are common, and the simplest row is one-hot."""
    cuts = st.lists(st.integers(0, SIXTEENTHS), min_size=vocab - 1, max_size=vocab - 1)
    return cuts.map(lambda c: tuple(b - a for a, b in pairwise([0, *sorted(c), SIXTEENTHS])))


def possible(row: Weights) -> list[int]:
    return [token for token, weight in enumerate(row) if weight]


def one_hot(vocab: int, token: int) -> Weights:
    return tuple(SIXTEENTHS * (index == token) for index in range(vocab))


@st.composite
def batches(draw: st.DrawFn, max_batch: int = 4, max_steps: int = 3) -> tuple[Row, ...]:
    """Rows of one shape that have nothing else in common."""
    vocab, steps = draw(st.integers(1, 5)), draw(st.integers(0, max_steps))

    def row() -> Row:
        draft = tuple(draw(weights(vocab)) for _ in range(steps))
        target = tuple(draw(weights(vocab)) for _ in range(steps + 1))
        return Row(tuple(draw(st.sampled_from(possible(row))) for row in draft), draft, target)

    return tuple(row() for _ in range(draw(st.integers(1, max_batch))))


@st.composite
def sure_batches(draw: st.DrawFn, max_batch: int = 5, max_steps: int = 4) -> tuple[Row, ...]:
    """One-hot rows: each position is sure to accept or sure to reject."""
    vocab, steps = draw(st.integers(2, 6)), draw(st.integers(0, max_steps))
    tokens = st.integers(0, vocab - 1)

    def row() -> Row:
        drafted = tuple(draw(tokens) for _ in range(steps))
        emitted = [draw(tokens) if draw(st.booleans()) else x for x in drafted]
        return sure_row(vocab, drafted, (*emitted, draw(tokens)))

    return tuple(row() for _ in range(draw(st.integers(1, max_batch))))


def sure_row(vocab: int, drafted: tuple[int, ...], target: tuple[int, ...]) -> Row:
    """The draft is sure of its tokens and the target of its own."""
    draft_rows = tuple(one_hot(vocab, x) for x in drafted)
    return Row(drafted, draft_rows, tuple(one_hot(vocab, x) for x in target))


def sure_answer(row: Row) -> list[int]:
    """The tokens of a one-hot row, one position at a time."""
    answer = []
    for x, wanted in zip((*row.drafted, None), row.target, strict=True):
        answer.append(wanted.index(SIXTEENTHS))
        if answer[-1] != x:
            break
    return answer + [-1] * (len(row.target) - len(answer))


def tensors(batch: tuple[Row, ...], dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """draft_tokens, draft_probs and target_probs of these rows."""
    size, steps, vocab = len(batch), len(batch[0].drafted), len(batch[0].target[0])
    drafted = torch.tensor([row.drafted for row in batch], dtype=torch.int64)
    draft = torch.tensor([row.draft for row in batch], dtype=torch.float64) / SIXTEENTHS
    target = torch.tensor([row.target for row in batch], dtype=torch.float64) / SIXTEENTHS
    return [drafted.reshape(size, steps), draft.reshape(size, steps, vocab).to(dtype),
            target.to(dtype)]  # fmt: skip


def many(count: int, *rows: torch.Tensor) -> list[torch.Tensor]:
    """The same row `count` times, without the bytes."""
    return [row.expand(count, *row.shape[1:]) for row in rows]


# answers


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, once it has the right form."""

    reply: Any
    tokens: torch.Tensor
    num_accepted: torch.Tensor


def verified(candidate: Any, arguments: list[torch.Tensor], seed: int = 0) -> Answer:
    """One call with a generator of its own."""
    return all_verified(candidate, [arguments], seed)[0]


def all_verified(candidate: Any, calls: list[list[torch.Tensor]], seed: int) -> list[Answer]:
    """One trip: every call draws from the same generator."""
    program = candidate.program()
    generator = program.generator(seed)
    replies = [program.verify(*arguments, generator) for arguments in calls]
    program.run()
    return [read(reply) for reply in replies]


def read(reply: Any) -> Answer:
    """Two integer tensors of the right shapes; anything else breaks."""
    asked = reply.asked.args[0]
    want = [(len(asked), asked.shape[1] + 1), (len(asked),)]
    value = reply.value
    shown = [described(item) for item in value] if isinstance(value, tuple) else [described(value)]
    if shown != [f"integers of shape {list(shape)}" for shape in want]:
        raise Broke(
            f"tokens {list(want[0])} and num_accepted {list(want[1])}, both integer",
            " and ".join(shown),
            at=reply,
        )
    return Answer(reply, value[0].long(), value[1].long())


def described(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)[:80]
    whole = not value.is_floating_point() and value.dtype != torch.bool
    return f"{'integers' if whole else value.dtype} of shape {list(value.shape)}"


# experiments: many draws of one sequence


@dataclass(frozen=True, slots=True)
class Experiment:
    """K draft rows and K + 1 target rows, the same in every draw; draft tokens differ."""

    draft: tuple[Weights, ...]
    target: tuple[Weights, ...]
    seed: int = 0

    def calls(self) -> list[list[torch.Tensor]]:
        """65,536 draws of the draft tokens, one call for each sequence of them that came out."""
        vocab = len(self.target[0])
        drafts = list(product(range(vocab), repeat=len(self.draft)))
        chances = torch.tensor([chance_of(drafted, self.draft) for drafted in drafts])
        source = torch.Generator().manual_seed(self.seed)
        drawn = torch.multinomial(chances, DRAWS, replacement=True, generator=source)
        counts = drawn.bincount(minlength=len(drafts)).tolist()
        rows = ((Row(d, self.draft, self.target), n) for d, n in zip(drafts, counts, strict=True))
        return [many(count, *tensors((row,))) for row, count in rows if count]


def chance_of(drafted: tuple[int, ...], draft: tuple[Weights, ...]) -> float:
    chance = 1.0
    for token, row in zip(drafted, draft, strict=True):
        chance *= row[token] / SIXTEENTHS
    return chance


@st.composite
def experiments(draw: st.DrawFn, steps: int = 2, max_vocab: int = 4) -> Experiment:
    vocab, steps = draw(st.integers(2, max_vocab)), draw(st.integers(1, steps))
    draft = tuple(draw(weights(vocab)) for _ in range(steps))
    target = tuple(draw(weights(vocab)) for _ in range(steps + 1))
    return Experiment(draft, target, draw(st.integers(0, 2**31 - 1)))


def law(row: Weights) -> dict[int, float]:
    """The distribution of a row; the row need not be normalised."""
    return {token: weight / sum(row) for token, weight in enumerate(row)}


def residual(draft: Weights, target: Weights) -> Weights:
    return tuple(max(p - q, 0) for q, p in zip(draft, target, strict=True))


def chance_to_accept(token: int, draft: Weights, target: Weights) -> float:
    return min(1.0, target[token] / draft[token])


TILTED = Experiment(draft=((8, 4, 4),), target=((4, 8, 4), (0, 0, 16)))
TWO_STEPS = Experiment(draft=((8, 8), (12, 4)), target=((12, 4), (4, 12), (8, 8)))
APART = Experiment(draft=((16, 0, 0),), target=((0, 4, 12), (4, 4, 8)))


# what is emitted follows the target


@invariant(
    "R4",
    why="A biased first token looks fine in every demo and shifts every answer of the server a "
    "little, away from what the model would say.",
    ask="How would you show on paper that the first token has the target's distribution?",
    examples=COUNTED,
)
@example(TILTED)
@given(experiments())
def test_the_first_token_follows_the_target(candidate, experiment):
    """the first token emitted is distributed as the target's first row"""
    answers = all_verified(candidate, experiment.calls(), experiment.seed)
    drawn: Counter[int] = Counter()
    for answer in answers:
        drawn.update(tally(answer.tokens[:, 0]))
    expect_draws(drawn, law(experiment.target[0]), at=answers[-1].reply)


@invariant(
    "R4",
    why="Decisions that lean on each other are right one at a time and wrong together: some "
    "continuations become likelier than the model makes them.",
    ask="Which random numbers does a row use, and is any of them used twice?",
    examples=COUNTED,
)
@example(TWO_STEPS)
@given(experiments())
def test_the_whole_sequence_follows_the_target(candidate, experiment):
    """each token, given those before it, is distributed as its own target row"""
    answers = all_verified(candidate, experiment.calls(), experiment.seed)
    after: dict[tuple[int, ...], Counter[int]] = {}
    for answer in answers:
        drafted = tuple(answer.reply.asked.args[0][0].tolist())
        for position in range(len(drafted) + 1):
            reached = answer.tokens[answer.num_accepted >= position, position]
            after.setdefault(drafted[:position], Counter()).update(tally(reached))
    for prefix, drawn in after.items():
        wanted = law(experiment.target[len(prefix)])
        where = f" after {list(prefix)}" if prefix else " as the first"
        expect_draws(drawn, wanted, where=where, at=answers[-1].reply)


@invariant(
    "R5",
    why="A token the target rules out can end a JSON document or leave a grammar; the parser "
    "behind the server fails, once in a million tokens and never in a test.",
    ask="Which comparisons and which draws in the code can let a probability of 0 through?",
    examples=COUNTED,
)
@example(APART)
@example(Experiment(draft=((1, 15, 0, 0),), target=((0, 16, 0, 0), (0, 0, 0, 16))))
@given(experiments())
def test_a_token_without_target_mass_is_never_emitted(candidate, experiment):
    """a token to which the target gives no mass is never emitted"""
    target = torch.tensor(experiment.target)
    for answer in all_verified(candidate, experiment.calls(), experiment.seed):
        for position, row in enumerate(target):
            emitted = answer.tokens[answer.num_accepted >= position, position]
            for token, times in sorted(tally(emitted).items()):
                if not (0 <= token < len(row)) or row[token] == 0:
                    raise Broke(
                        f"token {token} never, at position {position} where the target gives it 0",
                        f"token {token} emitted {times:,} times in {len(emitted):,}",
                        at=answer.reply,
                    )


# the form of the answer


@invariant(
    "R1",
    why="The engine writes the accepted tokens into the sequence and the count into the KV "
    "cache. Where the two disagree, keys and text are of different tokens from then on.",
    ask="How do the count and the tokens come to be one decision and not two?",
)
@example((Row((0,), ((16, 0),), ((0, 16), (8, 8))),), 0)
@example((sure_row(2, (0, 0), (1, 0, 0)),), 0)
@given(batches(), st.integers(0, 2**31 - 1))
def test_one_token_follows_the_accepted_prefix(candidate, batch, seed):
    """a row is its accepted draft tokens, exactly one token more, then -1"""
    answer = verified(candidate, tensors(batch), seed)
    vocab = len(batch[0].target[0])
    for number, row in enumerate(batch):
        got, count = answer.tokens[number].tolist(), int(answer.num_accepted[number])
        if not 0 <= count <= len(row.drafted):
            raise Broke(
                f"row {number}: between 0 and {len(row.drafted)} accepted", f"{count}",
                at=answer.reply,
            )  # fmt: skip
        padding = [-1] * (len(row.drafted) - count)
        wanted = [*row.drafted[:count], "a token", *padding]
        if not 0 <= got[count] < vocab or got[:count] + got[count + 1 :] != [
            *row.drafted[:count], *padding
        ]:  # fmt: skip
            shown = ", ".join(str(item) for item in wanted)
            raise Broke(
                f"row {number}, {count} accepted: [{shown}]", f"{got}", at=answer.reply
            )  # fmt: skip


@behaviour(
    "R2",
    why="A draft token after a rejected one was conditioned on text that no longer exists. "
    "Keeping it splices two different continuations together.",
    ask="What turns 'accepted here' into 'accepted here and at every position before'?",
)
@example((sure_row(2, (0, 0), (1, 0, 0)),))
@given(sure_batches())
def test_nothing_is_accepted_after_a_rejection(candidate, batch):
    """the first rejection ends the row: no later draft token is accepted"""
    answer = verified(candidate, tensors(batch))
    for number, row in enumerate(batch):
        wanted = sum(token >= 0 for token in sure_answer(row)) - 1
        equal(
            int(answer.num_accepted[number]), wanted, what=f"accepted in row {number}",
            at=answer.reply,
        )  # fmt: skip


@behaviour(
    "R3",
    why="The token after the prefix is read from one position's rows. One position off, and the "
    "model continues a text that is not there.",
    ask="Which row of the draft and of the target belong to the token after n accepted ones?",
)
@example((sure_row(3, (0, 1), (0, 1, 2)),))
@example((sure_row(3, (0, 1), (0, 2, 1)),))
@given(sure_batches())
def test_one_hot_rows_leave_one_answer(candidate, batch):
    """where every row is certain of its token, so is the answer, row by row"""
    answer = verified(candidate, tensors(batch))
    for number, row in enumerate(batch):
        got = answer.tokens[number].tolist()
        equal(got, sure_answer(row), what=f"row {number}", at=answer.reply)


# acceptance and the token more


@behaviour(
    "R2",
    why="Accepting less than the overlap wastes the draft and the speed-up goes; accepting more "
    "emits what the draft likes.",
    ask="What speed-up does an acceptance of 0.7 a position give with four draft tokens?",
    examples=COUNTED,
)
@example(TILTED)
@example(TWO_STEPS)
@given(experiments())
def test_a_position_accepts_the_overlap(candidate, experiment):
    """draft token x is accepted with probability min(1, p(x) / q(x))"""
    for answer in all_verified(candidate, experiment.calls(), experiment.seed):
        drafted = answer.reply.asked.args[0][0].tolist()
        for position, token in enumerate(drafted):
            reached = answer.num_accepted[answer.num_accepted >= position]
            accepted = int((reached > position).sum())
            rows = experiment.draft[position], experiment.target[position]
            chance = chance_to_accept(token, *rows)
            expect_draws(
                {"accepted": accepted, "rejected": len(reached) - accepted},
                {"accepted": chance, "rejected": 1 - chance},
                outcome=f"draft token {token} {{}} at position {position}",
                drawn_as=":",
                at=answer.reply,
            )


@behaviour(
    "R3",
    why="The replacement must make up for exactly what acceptance left out. Any other "
    "distribution here undoes the guarantee, by as much as the draft is wrong.",
    ask="Why is it max(p - q, 0), and what would |p - q| or p do to the first token?",
    examples=COUNTED,
)
@example(APART)
@example(TWO_STEPS)
@example(Experiment(draft=((10, 3, 3),), target=((8, 4, 4), (4, 4, 8))))  # rejected by high draws
@given(experiments())
def test_a_rejection_draws_from_the_residual(candidate, experiment):
    """after a rejection the token more is drawn from max(p - q, 0), renormalised"""
    for answer in all_verified(candidate, experiment.calls(), experiment.seed):
        drafted = answer.reply.asked.args[0][0].tolist()
        for position in range(len(drafted)):
            left = residual(experiment.draft[position], experiment.target[position])
            drawn = tally(answer.tokens[answer.num_accepted == position, position])
            if sum(left):
                where = f" after the rejection of token {drafted[position]} at position {position}"
                expect_draws(drawn, law(left), where=where, at=answer.reply)


@behaviour(
    "R3",
    why="The token after a fully accepted draft is the step's free one. Drawn from another row "
    "it is noise that only good drafts get.",
    ask="Why does nothing have to be subtracted after the last draft token?",
    examples=COUNTED,
)
@example(Experiment(draft=((8, 8),), target=((8, 8), (4, 12))))
@given(experiments().map(lambda e: Experiment(e.draft, (*e.draft, e.target[-1]), e.seed)))
def test_after_no_rejection_the_last_target_row_decides(candidate, experiment):
    """after no rejection the token more is drawn from the last target row"""
    steps = len(experiment.draft)
    for answer in all_verified(candidate, experiment.calls(), experiment.seed):
        drawn = tally(answer.tokens[answer.num_accepted == steps, steps])
        expect_draws(drawn, law(experiment.target[-1]), where=" as the last", at=answer.reply)


@behaviour(
    "R5",
    why="A draft that agrees with the target in everything should cost nothing. Each token it "
    "loses is a pass of the large model.",
    ask="What does the comparison of u with p / q say at p = q, for every u that can be drawn?",
    examples=FEWER,
)
@example((Row((0,), ((16,),), ((16,), (16,))),))
@given(batches(max_batch=1, max_steps=4))
def test_equal_rows_accept_every_draft_token(candidate, batch):
    """where draft and target rows are equal every draft token is accepted"""
    [row] = batch
    same = Row(row.drafted, row.draft, (*row.draft, row.target[-1]))
    accepted_everywhere(candidate, many(1024, *tensors((same,))))
    rare = torch.tensor([[[2.0**-30, 1.0]]])  # no constant added to q is small beside this
    accepted_everywhere(candidate, many(4096, torch.tensor([[0]]), rare, rare.expand(1, 2, 2)))
    even = torch.tensor([[[0.5, 0.5]]])
    highest = many(4096, torch.tensor([[0]]), even, even.expand(1, 2, 2))
    accepted_everywhere(candidate, highest, ONE_SEED)


def accepted_everywhere(candidate: Any, arguments: list[torch.Tensor], seed: int = 0) -> None:
    answer = verified(candidate, arguments, seed)
    rows, steps = arguments[0].shape
    short = answer.num_accepted[answer.num_accepted != steps]
    if len(short):
        raise Broke(
            f"all {steps} draft tokens accepted in each of {rows:,} rows",
            f"{int(short[0])} accepted in {len(short):,} of the rows",
            at=answer.reply,
        )


@behaviour(
    "R5",
    why="A draft token that the target would never say has to go each time, or a bad draft "
    "model writes the answer.",
    ask="What does your acceptance test do when p is 0, and when u is 0 too?",
    examples=FEWER,
)
@example((16, 0), (0, 16))
@given(weights(2), weights(3))
def test_rows_with_nothing_in_common_accept_none(candidate, left, right):
    """where draft and target rows have no token in common none is accepted"""
    draft, target = (*left, *[0] * len(right)), (*[0] * len(left), *right)
    for token in possible(draft):
        row = Row((token,), (draft,), (target, target))
        answer = verified(candidate, many(1024, *tensors((row,))))
        accepted = int((answer.num_accepted != 0).sum())
        if accepted:
            raise Broke("0 accepted in each of 1,024 rows", f"{accepted:,} rows accept",
                        at=answer.reply)  # fmt: skip


# the batch, and the generator


@invariant(
    "R7",
    why="Users who share a batch then share their luck: the same prompt gives all of them the "
    "same answer, and no average over rows shows it.",
    ask="Where in the code does each row get a random number of its own?",
    examples=COUNTED,
)
@example((8, 8), (4, 12), 0)
@given(weights(3), weights(3), st.integers(0, 2**31 - 1))
def test_each_row_is_an_independent_draw(candidate, draft, target, seed):
    """two rows of a batch are drawn independently, next to each other or far apart"""
    token = max(range(len(draft)), key=draft.__getitem__)
    row = Row((token,), (draft,), (target, target))
    answer = verified(candidate, many(DRAWS, *tensors((row,))), seed)
    chance = chance_to_accept(token, draft, target)
    left = law(residual(draft, target)) if chance < 1 else {}
    one = {t: (1 - chance) * left.get(t, 0.0) + chance * (t == token) for t in range(len(draft))}
    first = answer.tokens[:, 0]
    for pairs, apart in ((first.reshape(-1, 2), 1), (first.reshape(2, -1).T, DRAWS // 2)):
        expect_draws(
            tally(pairs),
            {(a, b): one[a] * one[b] for a in one for b in one},
            outcome="tokens {}",
            where=f" in rows {apart:,} apart",
            at=answer.reply,
        )


BATCHES, COINS = 64, 1024  # one coin a row


@edge(
    "R7",
    why="Numbers spread evenly over the batch save one user's luck by spending another's: what a "
    "row draws then depends on who else is in the batch.",
    ask="What would show that the rows of one call know of each other, when each is right alone?",
    examples=COUNTED,
)
@example(0, True)
@example(0, False)
@given(st.integers(0, 2**31 - 1), st.booleans())
def test_rows_do_not_make_up_for_each_other(candidate, seed, is_accepted):
    """what the rows of a batch draw scatters as independent draws do"""
    drafted, draft = (0, (16, 0, 0)) if is_accepted else (2, (0, 0, 16))  # else always rejected
    row = Row((drafted,), (draft,), ((8, 8, 0), (8, 8, 0)))
    answers = all_verified(candidate, [many(COINS, *tensors((row,)))] * BATCHES, seed)
    heads = [int((answer.tokens[:, 0] == 0).sum()) for answer in answers]
    what = "accepted" if is_accepted else "as the replacement"
    where = f" of token 0 {what}, in {BATCHES} calls of {COINS:,} rows"
    expect_scatter(heads, COINS, where=where, at=answers[0].reply)


def unlike_rows() -> list[torch.Tensor]:
    """64 rows with plenty of chance in each: two results are never equal by accident."""
    draft, target = (4, 4, 2, 2, 1, 1, 1, 1), (1, 1, 1, 1, 2, 2, 4, 4)
    rows = (Row((n % 8, n // 8), (draft, draft), (target, target, draft)) for n in range(64))
    return tensors(tuple(rows))


@behaviour(
    "R8",
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
    first = program.verify(*unlike_rows(), program.generator(seed))
    program.seed_global(2)
    program.verify(*tensors((sure_row(2, (0,), (1, 1)),)))
    second = program.verify(*unlike_rows(), program.generator(seed))
    program.run()
    same(read(first), read(second), True, "a second generator of the same seed")


@behaviour(
    "R8",
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
    first, second = (program.verify(*unlike_rows(), generator) for _ in range(2))
    _, repeated = (program.verify(*unlike_rows(), again) for _ in range(2))
    program.seed_global(seed)
    third, fourth = (program.verify(*unlike_rows()) for _ in range(2))
    program.seed_global(seed)
    fifth = program.verify(*unlike_rows(), None)
    program.run()
    same(read(first), read(second), False, "the second call with one generator")
    same(read(second), read(repeated), True, "the second call after the same seed")
    same(read(third), read(fourth), False, "the second call without a generator")
    same(read(third), read(fifth), True, "a call after torch.manual_seed with the same seed")


def same(one: Answer, other: Answer, wanted: bool, what: str) -> None:
    """Break unless two answers are equal, or differ, as wanted."""
    differ = (one.tokens != other.tokens).any(1) | (one.num_accepted != other.num_accepted)
    if bool(differ.any()) == wanted:
        raise Broke(
            f"{what}: {'the same' if wanted else 'another'} result",
            f"{int(differ.sum())} of {len(differ)} rows differ",
            at=other.reply,
            also=[one.reply],
        )


@invariant(
    "R9",
    why="The draft's probabilities are read again for the next step and for logging. Changed in "
    "place, they are wrong for whoever comes after.",
    ask="Which operations of the code write into a tensor that the caller still holds?",
    examples=FEWER,
    arguments=True,
)
@example((Row((0,), ((8, 8),), ((4, 12), (8, 8))),))
@given(batches())
def test_the_arguments_stay_as_they_were(candidate, batch):
    """verify leaves its arguments as they were"""
    verified(candidate, tensors(batch))


# legal but unkind


@edge(
    "R1",
    why="A request whose draft model had nothing to say still needs its token; a crash here "
    "takes the batch down with it.",
    ask="Which lines of the code index a position that K = 0 doesn't have?",
    examples=COUNTED,
)
@example((4, 12))
@given(st.integers(2, 4).flatmap(weights))
def test_no_draft_tokens_draws_from_the_target(candidate, target):
    """without draft tokens one token a row is drawn from the target, and no rows give no rows"""
    row = tensors((Row((), (), (target,)),))
    answer = verified(candidate, many(DRAWS, *row))
    if (answer.num_accepted != 0).any():
        raise Broke("0 accepted", f"{int(answer.num_accepted.max())} accepted", at=answer.reply)
    expect_draws(tally(answer.tokens[:, 0]), law(target), at=answer.reply)
    verified(candidate, many(0, *row))
    verified(candidate, [part[:0] for part in tensors((sure_row(2, (0, 1), (0, 1, 1)),))])


@edge(
    "R6",
    why="Rows that agree up to rounding are the aim of a good draft. A division by their "
    "residual of 0 gives NaN, and one row's NaN ends the whole batch.",
    ask="How small must a residual be before you call it empty, and relative to what?",
    examples=COUNTED,
)
@example((0, 4, 12))
@given(weights(4))
def test_an_empty_residual_draws_from_the_target(candidate, shared):
    """a rejection that leaves no residual draws from the target row, for that row alone"""
    shared = (*shared, *[0] * (6 - len(shared)))
    empty = Row((5,), (shared,), (shared, shared))  # both rows rule the draft token out
    half = Row((0,), ((8, 8, 0, 0, 0, 0),), ((0, 8, 8, 0, 0, 0),) * 2)  # leaves token 2 alone
    off_by_rounding(candidate)
    answer = verified(candidate, tensors((empty, half) * 8))
    for number in range(1, 16, 2):
        got = answer.tokens[number].tolist()
        equal(got, [2, -1], what=f"row {number}", at=answer.reply)
    answer = verified(candidate, many(DRAWS, *tensors((empty,))))
    expect_draws(tally(answer.tokens[:, 0]), law(shared), at=answer.reply)


def off_by_rounding(candidate: Any) -> None:
    """(0.499, 0.501) in bf16: less than the draft's (0.5, 0.5) at 0 and no more than it at 1."""
    draft = torch.tensor([[[0.5, 0.5]]], dtype=torch.bfloat16)
    target = torch.tensor([[[0.499, 0.501], [0.5, 0.5]]], dtype=torch.bfloat16)
    answer = verified(candidate, many(8192, torch.tensor([[0]]), draft, target))
    outside = answer.tokens[(answer.tokens[:, 0] < 0) | (answer.tokens[:, 0] > 1), 0]
    if len(outside):
        raise Broke("token 0 or 1", f"token {int(outside[0])}", at=answer.reply)


@edge(
    "R3",
    why="Near the end of training a draft differs from its target by a ten-thousandth. A residual "
    "taken for nothing, or padded with a constant, is wrong exactly there.",
    ask="Below which mass does your code treat a residual as empty, and why there?",
)
def test_a_small_residual_is_drawn_from(candidate):
    """a residual of 2^-12 at one token gives that token each time"""
    draft, target = torch.zeros(1, 1, 64), torch.zeros(1, 2, 64)
    draft[..., :3] = torch.tensor([2.0**-12, 0.5 - 2.0**-12, 0.5])
    target[..., 1:3] = 0.5
    answer = verified(candidate, many(16_384, torch.tensor([[0]]), draft, target))
    other = int((answer.tokens[:, 0] != 1).sum())
    if other:
        raise Broke("token 1 in each of 16,384 rows", f"another in {other:,}", at=answer.reply)


@edge(
    "R6",
    why="A draft that masks out its whole vocabulary leaves a row of zeros. Renormalised it is "
    "NaN, and every comparison with NaN is false.",
    ask="What do your ratio and your residual become when q is 0 everywhere?",
    examples=COUNTED,
)
@example((0, 4, 12), 0)
@given(weights(3), st.integers(0, 2))
def test_a_draft_row_of_zeros_leaves_the_target(candidate, target, token):
    """after a draft row of zeros no token is emitted that the target's row rules out"""
    nothing = (0,) * len(target)
    answer = verified(candidate, many(DRAWS, *tensors((Row((token,), (nothing,), (target,) * 2),))))
    drawn = answer.tokens[answer.num_accepted == 0, 0]  # the token itself may be accepted or not
    expect_draws(tally(drawn), law(target), at=answer.reply)
    if target[token] == 0 and len(drawn) < DRAWS:
        raise Broke(
            f"draft token {token} rejected: the target gives it 0",
            f"accepted {DRAWS - len(drawn):,} times in {DRAWS:,}",
            at=answer.reply,
        )


@edge(
    "R5",
    why="A uniform in [0, 1) is exactly 0 once in 16 million draws: daily, on a busy server. "
    "A test that lets 0 pass then emits what the target rules out.",
    ask="Which values can your uniform take, and what does the comparison say at both ends?",
)
def test_a_uniform_at_either_end_lets_nothing_through(candidate):
    """a uniform of exactly 0, or as near 1 as fp32 has it, emits no token without target mass"""
    row = Row((0,), ((16, 0, 0),), ((0, 0, 16), (0, 0, 16)))
    only_target(candidate, many(4096, *tensors((row,))), ZERO_SEED, [2])
    target = torch.tensor([[[0.0, *[1 / 41] * 41, 0.0]]])  # in fp32 these sum to less than 1
    no_draft = torch.zeros(1, 0, dtype=torch.int64), torch.zeros(1, 0, 43)
    for seed in (ZERO_SEED, ONE_SEED):
        only_target(candidate, many(4096, *no_draft, target), seed, range(1, 42))


def only_target(candidate: Any, arguments: Any, seed: int, allowed: Any) -> None:
    answer = verified(candidate, arguments, seed)
    for number, token in enumerate(answer.tokens[:, 0].tolist()):
        if token not in allowed:
            wanted = f"row {number}: a token from {allowed[0]} to {allowed[-1]}"
            raise Broke(wanted, f"token {token}", at=answer.reply)


@edge(
    "R9",
    why="Uniforms in bf16 have 256 values, so every chance below 1/256 becomes 0 or 1/256: rare "
    "tokens are emitted far too often, or never.",
    ask="In which dtype is each uniform drawn, and how small a probability can it resolve?",
    examples=COUNTED / 4,
)
@example(torch.float32, 1 - 2.0**-12, 0)
@example(torch.float16, 2.0**-13, 0)
@example(torch.bfloat16, 2.0**-12, 0)
@given(st.just(torch.float32), st.sampled_from([2.0**-12, 1 - 2.0**-12]), st.integers(0, 2**31 - 1))
def test_small_chances_are_kept_in_every_dtype(candidate, dtype, chance, seed):
    """a chance of 2^-12 is neither rounded away nor up, in fp32, fp16 and bf16"""
    draft = torch.tensor([[[1.0, 0.0]]]).to(dtype)
    target = torch.tensor([[[chance, 1 - chance], [1.0, 0.0]]]).to(dtype)
    answer = verified(candidate, many(FINE_DRAWS, torch.tensor([[0]]), draft, target), seed)
    accepted = int((answer.num_accepted == 1).sum())
    expect_draws(
        {"accepted": accepted, "rejected": FINE_DRAWS - accepted},
        {"accepted": chance, "rejected": 1 - chance},
        outcome="draft token 0 {}",
        drawn_as=":",
        at=answer.reply,
    )


@edge(
    "R9",
    why="A running sum in bf16 moves in steps of 1/256 near 1, so of 512 equal tokens every "
    "other one is never drawn.",
    ask="At which point does your code leave the dtype of the probabilities?",
    examples=COUNTED / 4,
)
@example(torch.bfloat16, 0)
@given(st.sampled_from(HALF), st.integers(0, 2**31 - 1))
def test_half_precision_draws_every_token(candidate, dtype, seed):
    """the token more is drawn from fp16 and bf16 rows as from the same rows in fp32"""
    flat = torch.full((1, 1, 512), 1 / 512, dtype=dtype)  # running sums in bf16 skip every other
    nothing = torch.zeros(1, 0, dtype=torch.int64), flat[:, :0]
    answer = verified(candidate, many(4096, *nothing, flat), seed)
    expect_draws(
        tally(answer.tokens[:, 0] % 4),
        dict.fromkeys(range(4), 0.25),
        outcome="a token with remainder {} by 4",
        at=answer.reply,
    )


@edge(
    "R9",
    why="At 131,072 tokens a flat row has 1/131,072 a token: below the constants that are added "
    "for safety, and ids are above what 16 bits hold.",
    ask="How much memory does a step take at this vocabulary, and which tensors make it up?",
    examples=COUNTED / 4,
)
@each(DTYPES)
@given(st.sampled_from(DTYPES))
def test_a_vocabulary_of_131072(candidate, dtype):
    """a vocabulary of 131,072 changes nothing, in any dtype"""
    everything = [spread(0, rows, dtype) for rows in (2, 3)]
    accepted_everywhere(candidate, [torch.tensor([[LARGE // 2, LARGE - 1]]), *everything])
    upper = spread(LARGE // 2, 2, dtype)
    lower = made(f"{spread(LARGE // 2, 1, dtype).source}.flip(2)")
    answer = verified(candidate, [torch.tensor([[7]]), lower, upper])
    first = int(answer.tokens[0, 0])
    if not LARGE // 2 <= first < LARGE:
        raise Broke("a token of the target, 65,536 to 131,071", f"token {first}", at=answer.reply)


def spread(start: int, rows: int, dtype: torch.dtype) -> torch.Tensor:
    """[1, rows, 131072], flat over the tokens from `start` on."""
    return made(
        f"((torch.arange({LARGE}) >= {start}) / {LARGE - start}).to({dtype})"
        f".expand(1, {rows}, {LARGE})"
    )


@edge(
    "R9",
    why="Probabilities arrive as slices of a padded buffer or expanded over beams. Read as if "
    "they were dense, they are another sequence's.",
    ask="Which operations of the code need contiguous memory, and which copy to get it?",
    examples=FEWER,
)
@example((sure_row(2, (0,), (1, 0)),), sliced)
@example((sure_row(2, (0, 1), (0, 1, 0)),), transposed)
@given(sure_batches(), st.sampled_from([transposed, sliced, expanded]))
def test_strides_do_not_matter(candidate, batch, lay_out):
    """slices, transposes and expanded tensors give what dense tensors give"""
    batch = batch[:1] * len(batch) if lay_out is expanded else batch
    answer = verified(candidate, [lay_out(part) for part in tensors(batch)])
    for number, row in enumerate(batch):
        got = answer.tokens[number].tolist()
        equal(got, sure_answer(row), what=f"row {number}", at=answer.reply)


# refusals

BAD = (torch.nan, torch.inf, -torch.inf, -0.25, None)  # None: a target row of zeros


@edge(
    "R10",
    why="A NaN from a broken kernel compares false with everything: the verifier goes on and "
    "emits tokens that nobody computed.",
    ask="What does each comparison of the code say when one side is NaN?",
    examples=FEWER,
)
@each([(which, 0, 1, bad, torch.float32) for which in (0, 1) for bad in BAD])
@given(
    st.tuples(
        st.integers(0, 1),
        st.integers(0, 1),
        st.integers(0, 2),
        st.sampled_from(BAD),
        st.sampled_from(DTYPES),
    )
)
def test_bad_probabilities_are_refused(candidate, case):
    """NaN, infinite and negative entries and an empty target row raise ValueError, read or not"""
    which, row, position, bad, dtype = case
    arguments = tensors((sure_row(3, (0, 1), (2, 1, 1)), sure_row(3, (2, 1), (2, 1, 0))), dtype)
    if bad is None:
        arguments[2][row, position] = 0.0
        words = f"target row {position} of sequence {row} is all zeros"
    else:
        which, position = (1, position) if position == 2 else (which, position)
        arguments[1 + which][row, position, 0] = bad
        words = f"{bad} in {('draft', 'target')[which]} row {position} of sequence {row}"
    refused(candidate.attempt("verify", *arguments), "ValueError", wanted=f"ValueError: {words}")


@edge(
    "R10",
    why="A token of -1 is padding from the step before. Read as an index it is the last of the "
    "vocabulary, and the answer is wrong without an error.",
    ask="What does your gather do with -1, on the CPU and on a GPU?",
    examples=FEWER,
)
@each([(token, 0, 1) for token in (-1, 3, 2**31)])
@given(
    st.tuples(
        st.sampled_from([-1, -3, 3, 4, 2**31, -(2**40)]), st.integers(0, 1), st.integers(0, 1)
    )
)
def test_a_token_outside_the_vocabulary_is_refused(candidate, case):
    """a draft token outside the vocabulary raises ValueError, read or not"""
    token, row, position = case
    arguments = tensors((sure_row(3, (0, 1), (2, 1, 1)), sure_row(3, (2, 1), (2, 1, 0))))
    arguments[0][row, position] = token
    wanted = f"ValueError: draft token {token} in a vocabulary of 3"
    refused(candidate.attempt("verify", *arguments), "ValueError", wanted=wanted)


SHAPES = {  # tokens, draft, target: all wrong together, most of them broadcast
    "one sequence of tokens": ([1, 2], [3, 2, 4], [3, 3, 4]),
    "one sequence of draft rows": ([3, 2], [1, 2, 4], [3, 3, 4]),
    "one sequence of target rows": ([3, 2], [3, 2, 4], [1, 3, 4]),
    "as many target rows as draft rows": ([3, 2], [3, 2, 4], [3, 2, 4]),
    "two target rows too many": ([3, 2], [3, 2, 4], [3, 4, 4]),
    "one draft row for two tokens": ([3, 2], [3, 1, 4], [3, 3, 4]),
    "a token too few": ([3, 1], [3, 2, 4], [3, 3, 4]),
    "a draft vocabulary of 1": ([3, 2], [3, 2, 1], [3, 3, 4]),
    "a target vocabulary of 1": ([3, 2], [3, 2, 4], [3, 3, 1]),
    "a larger target vocabulary": ([3, 2], [3, 2, 4], [3, 3, 5]),
    "tokens without a batch": ([2], [3, 2, 4], [3, 3, 4]),
    "no batch": ([2], [2, 4], [3, 4]),
    "target rows without a batch": ([3, 2], [3, 2, 4], [3, 4]),
    "no draft, tokens of another batch": ([1, 0], [3, 0, 4], [3, 1, 4]),
}


@edge(
    "R10",
    why="A batch of one broadcasts to any batch: every user then gets the first one's draft "
    "judged, and nothing raises.",
    ask="Which of the shapes that broadcast would still give an answer of the right shape?",
    examples=FEWER,
)
@each(SHAPES)
@given(st.sampled_from(list(SHAPES)))
def test_shapes_that_do_not_agree_are_refused(candidate, case):
    """shapes that do not agree raise ValueError, broadcast or not"""
    tokens, draft, target = SHAPES[case]
    arguments = [torch.zeros(tokens, dtype=torch.int64)]
    for shape in (draft, target):
        arguments.append(torch.zeros(shape))
        arguments[-1][..., 0] = 1  # what is drawn, were it taken, is the same at every run
    refused(candidate.attempt("verify", *arguments), "ValueError", wanted=f"ValueError: {case}")
