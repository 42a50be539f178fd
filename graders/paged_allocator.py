"""The suite of paged_allocator: a dict of what each sequence owns is the whole model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from harness.suite import (
    Broke,
    Candidate,
    Program,
    Raised,
    Reply,
    behaviour,
    cost,
    edge,
    equal,
    holds,
    invariant,
    refused,
    stays_level,
    whole_numbers,
)
from harness.suite.pictures import block_pool

IDS = "abcdefghijkl"  # one for each operation: an id used again has a check of its own
MOST_LIVING = 5
TABLES, COUNTS, FREE, LENGTHS = "tables", "counts", "free", "lengths"
EVERYTHING = (FREE, TABLES, LENGTHS, COUNTS)

# ---------------------------------------------------------------- the model and the programs


@dataclass
class Model:
    """Which blocks each sequence owns, by made-up numbers; only how many are free is compared."""

    num_blocks: int
    block_size: int
    tables: dict[str, list[int]] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    made: int = 0
    begun: int = 0

    def num_free(self) -> int:
        return self.num_blocks - len({b for table in self.tables.values() for b in table})

    def num_owners(self, block: int) -> int:
        return sum(block in table for table in self.tables.values())

    def needs(self, seq: str, tokens: int) -> tuple[bool, int]:
        """Whether an append copies the last block, and how many blocks it adds."""
        table, length = self.tables[seq], self.lengths[seq]
        writes_inside = tokens > 0 and length % self.block_size != 0
        copies = writes_inside and self.num_owners(table[-1]) > 1
        return copies, -(-(length + tokens) // self.block_size) - len(table)

    def allocate(self, seq: str, tokens: int) -> bool:
        needed = -(-tokens // self.block_size)
        if needed > self.num_free():
            return False
        self.tables[seq], self.lengths[seq] = self._new(needed), tokens
        self.begun += 1
        return True

    def append(self, seq: str, tokens: int) -> bool:
        copies, growth = self.needs(seq, tokens)
        if copies + growth > self.num_free():
            return False
        if copies:
            self.tables[seq][-1:] = self._new(1)
        self.tables[seq] += self._new(growth)
        self.lengths[seq] += tokens
        return True

    def fork(self, parent: str, child: str) -> bool:
        self.tables[child], self.lengths[child] = list(self.tables[parent]), self.lengths[parent]
        self.begun += 1
        return True

    def free(self, seq: str) -> bool:
        del self.tables[seq], self.lengths[seq]
        return True

    def _new(self, count: int) -> list[int]:
        self.made += count
        return list(range(self.made - count, self.made))


Operation = tuple[str, int, int]  # what, which sequence (modulo those that live), how many tokens
Plan = tuple[int, int, list[Operation]]  # num_blocks, block_size, operations


def programs(most: int = 12) -> st.SearchStrategy[Plan]:
    """Small pools, so that they fill up; blocks of one token often; forks everywhere.

    Nothing that is an edge of its own: no zero tokens, no id for the second time. One mistake there
    would break every check that meets it on its way.
    """
    what = st.sampled_from(["allocate", "append", "fork", "append", "free"])
    tokens = st.sampled_from([1, 2, 3, 5, 9])
    operations = st.lists(st.tuples(what, st.integers(0, 4), tokens), min_size=1, max_size=most)
    return st.tuples(st.integers(1, 8), st.sampled_from([1, 2, 3, 4]), operations)


@dataclass
class Moment:
    """One call of a program: what the model expects, and what was seen right after it."""

    call: tuple[Any, ...]
    fits: bool
    reply: Reply
    before: dict[str, int]  # lengths
    after: dict[str, int]
    num_free: int  # before
    looks: dict[str, Any]

    def went_as_expected(self) -> bool:
        """An error ends an example: that a call which fits succeeds is one check's to say."""
        return self.reply.ok is self.fits

    def tables(self) -> dict[str, list[int]]:
        return {
            seq: whole_numbers(reply.value, "blocks", at=reply)
            for seq, reply in self.looks[TABLES].items()
        }

    def picture(self, model: Model, *marked: int) -> dict[str, Any]:
        """The pool as it stands after this call, for a report to draw."""
        return block_pool(
            self.tables(),
            self.after,
            num_blocks=model.num_blocks,
            block_size=model.block_size,
            marked=marked,
        )


def play(candidate: Candidate, plan: Plan, *looks: str) -> tuple[Model, list[Moment]]:
    """Run a program in one trip; the moments up to the first call that went another way."""
    num_blocks, block_size, operations = plan
    model = Model(num_blocks, block_size)
    program = candidate.program(echo=False)
    pool = program.PagedAllocator(num_blocks, block_size)
    moments = []
    for operation in operations:
        call = _bound(operation, model)
        if call is None:
            continue
        before, num_free = dict(model.lengths), model.num_free()
        fits = getattr(model, call[0])(*call[1:])
        reply = pool.call(*call)
        with program.probing():
            seen = look(pool, model, looks)
        moments.append(Moment(call, fits, reply, before, dict(model.lengths), num_free, seen))
    program.run()
    assert pool.value
    for position, moment in enumerate(moments):
        if moment.reply.raised("NotImplementedError"):
            raise Raised(moment.reply.asked, moment.reply.asked.error)
        if not moment.went_as_expected():
            return model, moments[: position + 1]
    return model, moments


def planned(candidate: Candidate, plan: Plan) -> tuple[Model, Program, Reply]:
    """A program of the calls that fit, for a check to add to and run."""
    num_blocks, block_size, operations = plan
    model = Model(num_blocks, block_size)
    program = candidate.program(echo=False)
    pool = program.PagedAllocator(num_blocks, block_size)
    for operation in operations:
        call = _bound(operation, model)
        if call is not None and getattr(model, call[0])(*call[1:]):
            pool.call(*call)
    return model, program, pool


def _bound(operation: Operation, model: Model) -> tuple[Any, ...] | None:
    """The call that an operation means now; None when there is nobody to do it to."""
    what, which, tokens = operation
    living = sorted(model.lengths)
    is_full = len(living) == MOST_LIVING
    if what == "allocate":
        return None if is_full else ("allocate", IDS[model.begun], tokens)
    if not living or (what == "fork" and is_full):
        return None
    seq = living[which % len(living)]
    if what == "fork":
        return ("fork", seq, IDS[model.begun])
    return ("append", seq, tokens) if what == "append" else ("free", seq)


def look(pool: Reply, model: Model, looks: tuple[str, ...] = EVERYTHING) -> dict[str, Any]:
    """Plan the readings named; the caller marks them as probes."""
    seen: dict[str, Any] = {}
    if FREE in looks:
        seen[FREE] = pool.read("num_free_blocks")
    if TABLES in looks:
        seen[TABLES] = {seq: pool.block_table(seq) for seq in model.lengths}
    if LENGTHS in looks:
        seen[LENGTHS] = {seq: pool.num_tokens(seq) for seq in model.lengths}
    if COUNTS in looks:
        seen[COUNTS] = counts_of(pool, model.num_blocks)
    return seen


def state(looks: dict[str, Any]) -> list[tuple[str, Reply]]:
    """The readings of a look, named, in order."""
    named: list[tuple[str, Reply]] = [("num_free_blocks", looks[FREE])] if FREE in looks else []
    named += [(f"the table of {seq!r}", r) for seq, r in looks.get(TABLES, {}).items()]
    named += [(f"the tokens of {seq!r}", r) for seq, r in looks.get(LENGTHS, {}).items()]
    named += [(f"the count of block {i}", r) for i, r in enumerate(looks.get(COUNTS, []))]
    return named


def counts_of(pool: Reply, num_blocks: int) -> list[Reply]:
    """Plan a look at the count of every block; the caller marks it as probes."""
    return [pool.ref_count(block) for block in range(num_blocks)]


def counted(counts: list[Reply], table: Any, wanted: int) -> None:
    """Break unless each block of a table is one of the pool and has this count."""
    for block in whole_numbers(table, "blocks"):
        outside = f"blocks from 0 to {len(counts) - 1}"
        holds(0 <= block < len(counts), outside, f"block {block}", at=counts[0])
        equal(counts[block], wanted, what=f"the count of block {block}")


def unchanged(before: dict[str, Any], after: dict[str, Any], at: Reply) -> None:
    """Break at the first reading that differs."""
    for (name, old), (_, new) in zip(state(before), state(after), strict=True):
        equal(new, old, what=f"{name} as before", also=[old, at])


# ---------------------------------------------------------------- invariants


@invariant(
    "R3",
    why="Two sequences that share a page without knowing it overwrite each other's keys and "
    "values. The server stays up and the text goes wrong, so nobody is paged.",
    ask="Which one line makes freeing safe when a parent and its fork hold the same block?",
)
@given(programs())
@example((4, 2, [("allocate", 0, 1), ("fork", 0, 0), ("free", 0, 0), ("allocate", 0, 1)]))
def test_a_held_block_is_never_handed_out_again(candidate, plan):
    """a held block is never handed out again"""
    model, moments = play(candidate, plan, TABLES)
    held: dict[str, list[int]] = {}
    for moment in moments:
        if not moment.went_as_expected():
            return
        tables = moment.tables()
        if moment.fits and moment.call[0] in ("allocate", "append"):
            seq = moment.call[1]
            for block in set(tables[seq]) - set(held.get(seq, [])):
                _nobody_else_holds(block, seq, moment, model)
        held = tables


def _nobody_else_holds(block: int, seq: str, at: Moment, model: Model) -> None:
    for owner, table in at.tables().items():
        if owner != seq and block in table:
            raise Broke(
                f"block {block} to stay with sequence {owner!r}",
                f"block {block}, given to sequence {seq!r} as well",
                at=at.looks[TABLES][seq],
                also=[at.looks[TABLES][owner]],
                picture=at.picture(model, block),
            )


@invariant(
    "R2",
    why="A count that is too high keeps a page for ever and the pool shrinks with every fork; one "
    "too low gives the page away while it is read.",
    ask="Which calls change a count, and does each of them pass through one place?",
)
@given(programs())
@example((4, 2, [("allocate", 0, 1), ("fork", 0, 0), ("append", 1, 1)]))
@example((4, 2, [("allocate", 0, 1), ("fork", 0, 0), ("fork", 0, 0)]))
def test_counts_are_the_tables_a_block_stands_in(candidate, plan):
    """a block's count is the number of tables it stands in"""
    model, moments = play(candidate, plan, TABLES, COUNTS)
    for moment in moments:
        if not moment.went_as_expected():
            return
        owners = Counter(block for table in moment.tables().values() for block in set(table))
        for block, reply in enumerate(moment.looks[COUNTS]):
            tables = [r for r in moment.looks[TABLES].values() if block in r.value]
            equal(
                reply,
                owners[block],
                what=f"the count of block {block}",
                also=tables,
                picture=partial(moment.picture, model, block),
            )


@invariant(
    "R2",
    why="A page that no table holds and the pool has lost is gone until restart. Throughput sinks "
    "over hours and no error is logged.",
    ask="How would a running server notice that one page is lost?",
)
@given(programs())
@example((4, 2, [("allocate", 0, 1), ("fork", 0, 0), ("free", 0, 0), ("free", 0, 0)]))
def test_free_and_held_blocks_make_up_the_pool(candidate, plan):
    """free blocks and held blocks together make up the pool"""
    model, moments = play(candidate, plan, TABLES, FREE)
    for moment in moments:
        if not moment.went_as_expected():
            return
        held = {block for table in moment.tables().values() for block in table}
        reply = moment.looks[FREE]
        equal(
            reply,
            model.num_blocks - len(held),
            what="free blocks",
            also=moment.looks[TABLES].values(),
            picture=partial(moment.picture, model),
        )


@invariant(
    "R1",
    why="A token without a slot is written past the end of its table, into whatever page the "
    "kernel finds there.",
    ask="Where is the token count turned into blocks, and is it one place?",
)
@given(programs())
@example((4, 4, [("allocate", 0, 5)]))
def test_a_table_fits_its_tokens(candidate, plan):
    """a table has ceil(tokens / block_size) different blocks of the pool"""
    model, moments = play(candidate, plan, TABLES, LENGTHS)
    for moment in moments:
        if not moment.went_as_expected():
            return
        for seq, table in moment.tables().items():
            at, length = moment.looks[TABLES][seq], moment.looks[LENGTHS][seq]
            equal(length, moment.after[seq], what=f"the tokens of {seq!r}")
            wanted = -(-moment.after[seq] // model.block_size)
            holds(
                len(table) == wanted,
                f"{wanted} blocks for {moment.after[seq]} tokens",
                f"{len(table)}: {table}",
                at=at,
                also=[length],
            )
            holds(len(set(table)) == len(table), "different blocks", str(table), at=at)
            outside = [block for block in table if not 0 <= block < model.num_blocks]
            holds(not outside, f"blocks from 0 to {model.num_blocks - 1}", str(table), at=at)


@invariant(
    "R6",
    why="A write into a page that a sibling still reads changes the sibling's past. Beams of one "
    "request bleed into each other.",
    ask="When can a write touch a block that another table holds?",
)
@given(programs())
@example((4, 2, [("allocate", 0, 1), ("fork", 0, 0), ("append", 0, 1), ("append", 1, 1)]))
@example((6, 4, [("allocate", 0, 3), ("fork", 0, 0), ("append", 0, 5), ("append", 1, 5)]))
def test_every_sequence_reads_back_its_own_tokens(candidate, plan):
    """every sequence reads back the tokens it wrote"""
    model, moments = play(candidate, plan, TABLES)
    engine = Engine(model)
    for moment in moments:
        if not moment.went_as_expected():
            return
        engine.step(moment)
        for seq in moment.after:
            engine.reads_back(seq, moment)


class Engine:
    """Memory by (block, slot), written the way a model runner would after each call."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.block_size = model.block_size
        self.memory: dict[tuple[int, int], str] = {}
        self.tokens: dict[str, list[str]] = {}

    def step(self, moment: Moment) -> None:
        what, seq = moment.call[:2]
        if not moment.fits:
            return
        if what == "fork":
            self.tokens[moment.call[2]] = list(self.tokens[seq])
        elif what == "free":
            del self.tokens[seq]
        else:
            if what == "append":
                self._copy(moment.reply)
            self._write(seq, moment)

    def _copy(self, reply: Reply) -> None:
        for source, target in copies(reply):
            for slot in range(self.block_size):
                if (source, slot) in self.memory:
                    self.memory[target, slot] = self.memory[source, slot]

    def _write(self, seq: str, moment: Moment) -> None:
        table, old = moment.tables()[seq], self.tokens.get(seq, [])
        self.tokens[seq] = old + [f"{seq}{i}" for i in range(len(old), moment.after[seq])]
        for position in range(len(old), moment.after[seq]):
            slot = self.slot(table, position)
            if slot is not None:
                self.memory[slot] = self.tokens[seq][position]

    def slot(self, table: list[int], position: int) -> tuple[int, int] | None:
        block = position // self.block_size
        return (table[block], position % self.block_size) if block < len(table) else None

    def reads_back(self, seq: str, moment: Moment) -> None:
        table = moment.tables()[seq]
        for position, token in enumerate(self.tokens[seq]):
            slot = self.slot(table, position)
            found = self.memory.get(slot) if slot is not None else None
            if found == token:
                continue
            where = f"token {position} of sequence {seq!r}"
            stored = "nothing" if found is None else f"token {found[1:]} of sequence {found[0]!r}"
            at = moment.looks[TABLES][seq]
            others = [r for other, r in moment.looks[TABLES].items() if other != seq]
            raise Broke(
                f"{where} in its slot, as written",
                f"{stored} there",
                at=at,
                also=others,
                picture=moment.picture(self.model, *(slot[:1] if slot else ())),
            )


def copies(reply: Reply) -> list[tuple[int, int]]:
    """What `append` returned, checked to be pairs of blocks."""
    value = reply.value
    if not isinstance(value, (list, tuple)):
        raise Broke("a list of (src, dst) pairs", repr(value), at=reply)
    pairs = [whole_numbers(pair, "two blocks", at=reply) for pair in value]
    if any(len(pair) != 2 for pair in pairs):
        raise Broke("a list of (src, dst) pairs", repr(value), at=reply)
    return [(pair[0], pair[1]) for pair in pairs]


@invariant(
    "R9",
    why="Each refusal that keeps a few pages makes the next refusal likelier. Under load the pool "
    "empties with nobody in it.",
    ask="What is the last line of append that can raise, and what has changed before it?",
)
@given(programs(), st.integers(1, 4))
@example((2, 2, [("allocate", 0, 1)]), 3)
@example((3, 2, [("allocate", 0, 1), ("fork", 0, 0)]), 2)
def test_a_refused_request_takes_nothing(candidate, plan, extra):
    """a request that does not fit leaves everything as it was"""
    model, program, pool = planned(candidate, plan)
    refusals = []
    too_many = (model.num_free() + extra) * model.block_size + 1
    for call in [("allocate", "new", too_many)] + [("append", s, too_many) for s in model.lengths]:
        with program.probing():
            before = look(pool, model)
        reply = pool.call(*call)
        with program.probing():
            after = look(pool, model)
            unknown = pool.num_tokens("new")
        refusals.append((before, reply, after, unknown))
    program.run()
    assert pool.value
    for before, reply, after, unknown in refusals:
        if not all(reading.ok for _, reading in state(before)):
            return
        if before[FREE].value != model.num_free():
            return  # it went wrong before: what fits now is another check's to say
        refused(reply, "OutOfBlocks")
        unchanged(before, after, reply)
        refused(unknown, "KeyError", wanted="no sequence 'new' after its refusal (KeyError)")


# ---------------------------------------------------------------- behaviours


@behaviour(
    "R1",
    why="One block too many on each boundary wastes a page per sequence; one too few has no slot "
    "for the last token.",
    ask="What does the formula give at 0, at block_size and at block_size + 1?",
)
@given(st.integers(1, 8), st.integers(1, 33))
@example(4, 5)
@example(4, 8)
def test_tokens_take_whole_blocks(candidate, block_size, tokens):
    """5 tokens in blocks of 4 take two blocks, 8 take two as well"""
    needed = -(-tokens // block_size)
    pool = candidate.in_turn().PagedAllocator(needed + 2, block_size)
    table = pool.allocate("x", tokens)
    free = pool.read("num_free_blocks")
    again, length = pool.block_table("x"), pool.num_tokens("x")
    blocks = whole_numbers(table, "blocks")
    holds(len(blocks) == needed, f"{needed} blocks", f"{len(blocks)}: {blocks}", at=table)
    equal(free, 2, what="free blocks")
    equal(again, blocks, what="the table that allocate returned")
    equal(length, tokens, what="tokens")


@behaviour(
    "R9",
    why="A pool that never gives its last page runs one sequence fewer, and a request of the "
    "pool's size waits for ever.",
    ask="Which comparison guards the pool, and what does it say at equality?",
)
@given(programs())
@example((2, 2, [("allocate", 0, 3)]))
@example((3, 2, [("allocate", 0, 3), ("append", 0, 2)]))
@example((2, 2, [("allocate", 0, 1), ("fork", 0, 0), ("append", 0, 1)]))
def test_a_request_that_exactly_fits_succeeds(candidate, plan):
    """a request for no more than the free blocks succeeds"""
    _, moments = play(candidate, plan, FREE)
    if not moments or not moments[-1].fits or moments[-1].reply.ok:
        return
    last, free = moments[-1], [moment.looks[FREE] for moment in moments[-2:-1]]
    if free and free[0].value != last.num_free:
        return  # blocks went missing before: that is another check's to say
    error, wants_blocks = last.reply.asked.error, last.call[0] in ("allocate", "append")
    assert error is not None
    raise Broke(
        "an answer: the blocks it needs are free" if wants_blocks else "an answer",
        f"{error.type}: {error.message}",
        at=last.reply,
        also=free,
    )


@behaviour(
    "R4",
    why="Sharing is what makes parallel samples cheap. A fork that takes pages fails when the "
    "pool is full, which is when it is needed.",
    ask="What does a fork of a 100,000-token prompt cost, in blocks?",
)
@given(st.integers(1, 4), st.integers(1, 9), st.integers(0, 2))
def test_fork_shares_every_block_and_takes_none(candidate, block_size, tokens, spare):
    """a fork shares every block of its parent and takes none"""
    num_blocks = -(-tokens // block_size) + spare
    plan = candidate.in_turn()
    pool = plan.PagedAllocator(num_blocks, block_size)
    table = pool.allocate("x", tokens)
    fork = pool.fork("x", "y")
    with plan.probing():
        free = pool.read("num_free_blocks")
        length, again = pool.num_tokens("y"), pool.block_table("x")
        counts = counts_of(pool, num_blocks)
    equal(fork, table, what="the parent's table")
    equal(free, spare, what="free blocks")
    equal(length, tokens, what="the parent's tokens")
    equal(again, table, what="the parent's table")
    counted(counts, table, 2)


@behaviour(
    "R6",
    why="The engine moves the keys only if it is told. A copy that is not reported leaves a page "
    "of another request's old data.",
    ask="Who carries out the copy, and when must it be done?",
)
@given(st.integers(2, 4), st.integers(0, 2), st.booleans())
@example(2, 0, True)
def test_a_shared_partly_full_block_is_copied_once(candidate, block_size, full, child_writes):
    """the first writer into a shared, partly full block copies it, and says so"""
    writer, sibling = ("y", "x") if child_writes else ("x", "y")
    plan = candidate.in_turn()
    pool = plan.PagedAllocator(full + 3, block_size)
    allocated = pool.allocate("x", full * block_size + 1)
    pool.fork("x", "y")
    reply = pool.append(writer)
    with plan.probing():
        now, other = pool.block_table(writer), pool.block_table(sibling)
        counts = counts_of(pool, full + 3)
    second = pool.append(writer) if block_size > 2 else None
    table = whole_numbers(allocated, "blocks")
    pairs, mine = copies(reply), whole_numbers(now, "blocks")
    holds(len(pairs) == 1, "one copy", f"{len(pairs)}: {pairs}", at=reply)
    new = mine[-1] if mine else -1
    holds(
        pairs[0] == (table[-1], new),
        f"the copy [({table[-1]}, {new})]",
        str(pairs),
        at=now,
        also=[reply],
    )
    equal(mine, [*table[:-1], new], what="the shared blocks before, then the copy", at=now)
    holds(new not in table, "a block that nobody held", f"block {new}", at=now)
    equal(other, table, what="the sibling's table as it was")
    counted(counts, [table[-1], new], 1)
    if second is not None:
        equal(second, [], what="no second copy")


@behaviour(
    "R7",
    why="A full page is never written again, so it can stay shared for good. Copying it doubles "
    "the memory of each shared prompt.",
    ask="Which slot does the next token go to when the last block is full?",
)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
@example(1, 1, 1)
def test_a_full_last_block_is_never_copied(candidate, block_size, full, tokens):
    """a full last block is never copied, shared or not"""
    pool = candidate.in_turn().PagedAllocator(20, block_size)
    allocated = pool.allocate("x", full * block_size)
    pool.fork("x", "y")
    by_child, now = pool.append("y", tokens), pool.block_table("y")
    by_parent = pool.append("x", tokens)
    table = whole_numbers(allocated, "blocks")
    equal(copies(by_child), [], what="no copy", at=by_child)
    equal(whole_numbers(now, "blocks")[:full], table, what="the shared blocks", at=now)
    equal(copies(by_parent), [], what="no copy", at=by_parent)


@behaviour(
    "R7",
    why="The last holder has nobody to protect. A copy here costs a page and a memory move at the "
    "moment the pool is tight.",
    ask="After n sequences diverge from one block, how many copies were made?",
)
@given(st.integers(2, 4), st.sampled_from(["never forked", "sibling freed", "sibling copied"]))
@example(2, "never forked")
@example(2, "sibling freed")
@example(2, "sibling copied")
def test_a_block_held_alone_is_never_copied(candidate, block_size, history):
    """a block that one table holds is never copied, alone again included"""
    pool = candidate.in_turn().PagedAllocator(4, block_size)
    table = pool.allocate("x", 1)
    if history != "never forked":
        pool.fork("x", "y")
    if history == "sibling freed":
        pool.free("y")
    if history == "sibling copied":
        pool.append("y")
    reply, now = pool.append("x"), pool.block_table("x")
    equal(copies(reply), [], what="no copy", at=reply)
    equal(now, table, what="the same table")


@behaviour(
    "R8",
    why="Chunked prefill and speculative decoding append many tokens in one call. A case that "
    "only single tokens reach is wrong for exactly those users.",
    ask="Can one append both copy a block and open new ones?",
)
@given(st.integers(1, 4), st.integers(1, 6), st.integers(1, 9), st.booleans())
@example(4, 3, 6, True)
@example(4, 3, 6, False)
def test_several_tokens_equal_one_by_one(candidate, block_size, tokens, more, shared):
    """several tokens at once leave what the same tokens one by one leave"""
    replies, looks = [], []
    program = candidate.program(echo=False)
    for step in (more, 1):
        pool = program.PagedAllocator(24, block_size)
        pool.allocate("x", tokens)
        if shared:
            pool.fork("x", "y")
        replies.append([pool.append("x", step) for _ in range(more // step)])
        looks.append([pool.block_table("x"), pool.num_tokens("x"), pool.read("num_free_blocks")])
    program.run()
    at_once, one_by_one = looks
    many, single = ([p for r in rs for p in copies(r)] for rs in replies)
    last = replies[0][-1]
    holds(
        len(many) == len(single),
        f"as many copies as one by one: {len(single)}",
        f"{len(many)}: {many}",
        at=last,
    )
    equal(at_once[1], one_by_one[1], what="tokens")
    got, blocks = (len(whole_numbers(look[0].value, "blocks")) for look in looks)
    equal(got, blocks, what="blocks in the table", at=at_once[0])
    equal(at_once[2], one_by_one[2], what="free blocks")
    table = whole_numbers(at_once[0], "blocks")
    holds(len(set(table)) == len(table), "different blocks", str(table), at=at_once[0])
    for _, new in many:
        place = (tokens - 1) // block_size
        holds(
            table[place] == new,
            f"the copy {new} at place {place}",
            str(table),
            at=at_once[0],
            also=[last],
        )


@behaviour(
    "R5",
    why="A token's slot is computed from its place in the table. A table in another order reads "
    "another part of the text.",
    ask="What does the kernel compute from a block's place in the table?",
)
@given(programs())
@example((4, 2, [("allocate", 0, 3), ("append", 0, 2)]))
@example((6, 2, [("allocate", 0, 3), ("fork", 0, 0), ("append", 0, 1)]))
def test_append_keeps_the_blocks_before(candidate, plan):
    """append leaves the blocks before the last in their places"""
    _, moments = play(candidate, plan, TABLES)
    tables: dict[str, list[int]] = {}
    for moment in moments:
        if not moment.went_as_expected():
            return
        if moment.fits and moment.call[0] == "append":
            seq = moment.call[1]
            old, new = tables[seq], moment.tables()[seq]
            kept = old[:-1] if copies(moment.reply) else old
            equal(
                new[: len(kept)],
                kept,
                what="the blocks before, in their places",
                at=moment.looks[TABLES][seq],
            )
        tables = moment.tables()


@behaviour(
    "R9",
    why="At a full pool an allocator that forgets the copy pops an empty list. One request's fork "
    "then takes the server down.",
    ask="How many blocks can an append of one token need?",
)
@given(st.integers(2, 4), st.booleans())
@example(2, False)
@example(2, True)
def test_the_copy_needs_a_free_block(candidate, block_size, grows):
    """a copy needs a free block too"""
    model = Model(1 + grows, block_size)
    program = candidate.program(echo=False)
    pool = program.PagedAllocator(model.num_blocks, block_size)
    pool.allocate("x", 1)
    pool.fork("x", "y")
    model.lengths = {"x": 1, "y": 1}
    with program.probing():
        before = look(pool, model)
    reply = pool.append("y", block_size if grows else 1)
    with program.probing():
        after = look(pool, model)
    pool.free("x")
    alone = pool.append("y", 1)
    program.run()
    refused(reply, "OutOfBlocks")
    unchanged(before, after, reply)
    equal(copies(alone), [], what="no copy once the sibling is gone", at=alone)


@behaviour(
    "R10",
    why="The parent of a beam often ends first. Its pages are still the beam's past.",
    ask="When the parent is freed, how does a block know that it is still needed?",
)
@given(st.integers(1, 4), st.integers(1, 7), st.booleans(), st.integers(0, 4))
@example(2, 1, True, 0)
@example(2, 1, False, 0)
def test_free_keeps_what_a_fork_holds(candidate, block_size, tokens, parent_first, grown):
    """freeing a parent leaves its fork's blocks held"""
    first, second = ("x", "y") if parent_first else ("y", "x")
    plan = candidate.in_turn()
    pool = plan.PagedAllocator(16, block_size)
    table = pool.allocate("x", tokens)
    pool.fork("x", "y")
    if grown:
        pool.append(first, grown)
    pool.free(first)
    with plan.probing():
        free, now = pool.read("num_free_blocks"), pool.block_table(second)
        counts = counts_of(pool, 16)
    equal(free, 16 - -(-tokens // block_size), what="free blocks")
    equal(now, table, what="the table as it was")
    counted(counts, table, 1)


@behaviour(
    "R3",
    why="A pool that hands each page out once serves until it has wrapped, then refuses everybody.",
    ask="After a thousand requests have come and gone, what should the free count be?",
)
@given(st.integers(1, 6), st.integers(1, 3), st.integers(1, 4))
@example(1, 1, 2)
def test_freed_blocks_can_be_taken_again(candidate, num_blocks, block_size, rounds):
    """every block of a freed sequence can be taken again"""
    pool = candidate.in_turn().PagedAllocator(num_blocks, block_size)
    tables = []
    for seq in IDS[: rounds + 1]:
        tables.append(pool.allocate(seq, num_blocks * block_size))
        pool.free(seq)
    free = pool.read("num_free_blocks")
    all_of_them, what = list(range(num_blocks)), "every block of the pool, in any order"
    for table in tables:
        equal(sorted(whole_numbers(table, "blocks")), all_of_them, what=what, at=table)
    equal(free, num_blocks, what="free blocks")


@behaviour(
    "R4",
    why="Two samples of one prompt write different next tokens. With one table between them the "
    "second overwrites the first.",
    ask="What do the two tables share after the fork, and what do they not?",
)
@given(st.integers(1, 4), st.integers(1, 2), st.integers(1, 3))
@example(2, 1, 1)
def test_parent_and_fork_grow_apart(candidate, block_size, full, tokens):
    """parent and fork grow apart"""
    pool = candidate.in_turn().PagedAllocator(24, block_size)
    pool.allocate("x", full * block_size)
    pool.fork("x", "y")
    pool.append("x", tokens)
    pool.append("y", tokens + 1)
    mine, theirs = pool.block_table("x"), pool.block_table("y")
    parents, forks = pool.num_tokens("x"), pool.num_tokens("y")
    one, other = (whole_numbers(table, "blocks")[full:] for table in (mine, theirs))
    holds(
        bool(one) and bool(other) and not set(one) & set(other),
        "different blocks for what each wrote after the fork",
        f"{one} and {other}",
        at=theirs,
        also=[mine],
    )
    equal(parents, full * block_size + tokens, what="the parent's tokens")
    equal(forks, full * block_size + tokens + 1, what="the fork's tokens")


# ---------------------------------------------------------------- edges

UNKNOWN = [("free", "x"), ("append", "x", 1), ("append", "x", 0), ("fork", "x", "z"),
           ("block_table", "x"), ("num_tokens", "x")]  # fmt: skip


@edge(
    "R7",
    why="A scheduler with no budget left asks for zero tokens. It must cost no page, and no error.",
    ask="What does append do for zero tokens on a shared block?",
)
@given(programs(6), st.integers(0, 4))
@example((2, 2, []), 0)
@example((2, 2, [("allocate", 0, 4)]), 0)
@example((2, 2, [("allocate", 0, 1), ("fork", 0, 0)]), 0)
@example((2, 2, [("allocate", 0, 1), ("fork", 0, 0), ("allocate", 0, 1)]), 0)
def test_zero_tokens_take_nothing(candidate, plan, which):
    """zero tokens take nothing"""
    model, program, pool = planned(candidate, plan)
    living = sorted(model.lengths)
    with program.probing():
        before = look(pool, model)
    replies = [pool.append(living[which % len(living)], 0)] if living else []
    table = pool.allocate("new", 0)
    replies.append(pool.append("new", 0))
    with program.probing():
        after, length = look(pool, model), pool.num_tokens("new")
    program.run()
    assert pool.value
    if not all(reading.ok for _, reading in state(before)):
        return
    equal(table, [], what="an empty table")
    equal(length, 0, what="tokens")
    for reply in replies:
        equal(copies(reply), [], what="no copy", at=reply)
    unchanged(before, after, replies[0])


@edge(
    "R4",
    why="A request that is split into samples before its prompt is read has no block yet.",
    ask="How does the code tell an empty table from a missing one?",
)
@given(st.integers(1, 4), st.integers(1, 5))
@example(2, 1)
def test_an_empty_sequence_can_be_forked(candidate, block_size, tokens):
    """an empty sequence can be forked"""
    pool = candidate.in_turn().PagedAllocator(12, block_size)
    pool.allocate("x", 0)
    fork = pool.fork("x", "y")
    by_parent, now = pool.append("x", tokens), pool.block_table("y")
    mine, free = pool.block_table("x"), pool.read("num_free_blocks")
    by_fork, length = pool.append("y", 1), pool.num_tokens("y")
    equal(fork, [], what="an empty table")
    equal(by_parent, [], what="no copy")
    equal(now, [], what="the fork's table, still empty")
    needed = -(-tokens // block_size)
    equal(len(whole_numbers(mine, "blocks")), needed, what="blocks of the parent", at=mine)
    equal(free, 12 - needed, what="free blocks")
    equal(by_fork, [], what="no copy")
    equal(length, 1, what="the fork's tokens")


@edge(
    "R2",
    why="Beam search forks forks at each step. A count that stops at two frees a page under the "
    "third beam.",
    ask="What changes if sharing is a flag instead of a count?",
)
@given(st.permutations(["a", "b", "c"]), st.booleans())
@example(["a", "b", "c"], False)
@example(["a", "b", "c"], True)
def test_a_fork_of_a_fork_adds_one_more_owner(candidate, order, frees):
    """a fork of a fork adds one more owner"""
    plan = candidate.in_turn()
    pool = plan.PagedAllocator(4, 2)
    table = pool.allocate("a", 1)
    pool.fork("a", "b")
    pool.fork("b", "c")
    with plan.probing():
        counts = [counts_of(pool, 4)]
    replies = []
    for seq in order:
        replies.append(pool.call("free" if frees else "append", seq))
        with plan.probing():
            counts.append(counts_of(pool, 4))
    free = pool.read("num_free_blocks", probe=True)
    equal(len(whole_numbers(table, "blocks")), 1, what="blocks", at=table)
    for left, seen in zip((3, 2, 1, 0) if frees else (3,), counts, strict=False):
        counted(seen, table, left)
    if frees:
        equal(free, 4, what="free blocks")
    else:
        made = [len(copies(reply)) for reply in replies]
        equal(made, [1, 1, 0], what="copies by the first, second and last writer", at=replies[-1])


@edge(
    "R11",
    why="A negative count gives a length below the cached one, and every later slot is wrong.",
    ask="Where do sizes enter the allocator, and who checks them?",
)
@given(st.integers(-9, -1))
@example(-1)
def test_bad_sizes_are_refused(candidate, negative):
    """negative counts and sizes below their least are a ValueError"""
    plan = candidate.in_turn()
    attempts = [
        plan.attempt("PagedAllocator", *sizes) for sizes in [(negative, 2), (2, negative), (2, 0)]
    ]
    pool = plan.PagedAllocator(4, 2)
    pool.allocate("x", 3)
    attempts += [pool.attempt("allocate", "y", negative), pool.attempt("append", "x", negative)]
    for attempt in attempts:
        refused(attempt, "ValueError")


@edge(
    "R11",
    why="The table that is overwritten is the only record of its pages. They are held until "
    "restart.",
    ask="What would be lost if a second allocate replaced the first?",
)
@given(st.integers(0, 3))
@example(1)
@example(0)
def test_a_taken_id_is_refused(candidate, tokens):
    """the id of a living sequence is refused"""
    pool = candidate.in_turn().PagedAllocator(8, 2)
    pool.allocate("x", tokens)
    pool.allocate("y", 1)
    table = pool.block_table("x")
    attempts = [
        pool.attempt(*call)
        for call in [
            ("allocate", "x", 1),
            ("allocate", "x", 0),
            ("fork", "y", "x"),
            ("fork", "x", "x"),
        ]
    ]
    now, length = pool.block_table("x"), pool.num_tokens("x")
    for attempt in attempts:
        refused(attempt, "ValueError")
    equal(now, table, what="the table as it was")
    equal(length, tokens, what="the tokens as they were")


@edge(
    "R11",
    why="An abort that races with the end of a request frees twice. If the second is silent or "
    "lowers a count, another request loses its page.",
    ask="What does the second of two frees do to the counts?",
)
@given(st.booleans(), st.sampled_from(UNKNOWN))
@example(True, ("free", "x"))
@example(True, ("append", "x", 1))
@example(False, ("append", "x", 0))
@example(True, ("fork", "x", "z"))
@example(True, ("block_table", "x"))
@example(True, ("num_tokens", "x"))
def test_an_unknown_sequence_is_a_key_error(candidate, freed, call):
    """an unknown or freed sequence is a KeyError"""
    pool = candidate.in_turn().PagedAllocator(4, 2)
    if freed:
        pool.allocate("x", 3)
        pool.free("x")
    attempt, free = pool.attempt(*call), pool.read("num_free_blocks")
    refused(attempt, "KeyError")
    equal(free, 4, what="free blocks")


@edge(
    "R10",
    why="Clients choose request ids and retry with the same one.",
    ask="What is left of a sequence after free?",
)
@given(programs(6), st.integers(0, 4), st.booleans(), st.integers(1, 5))
@example((12, 2, [("allocate", 0, 7)]), 0, False, 1)
@example((12, 2, [("allocate", 0, 7), ("allocate", 0, 1)]), 0, True, 1)
@example((12, 2, [("allocate", 0, 7), ("fork", 0, 0)]), 0, False, 1)
def test_a_freed_id_is_free_again(candidate, plan, which, by_fork, tokens):
    """the id of a freed sequence can be used again"""
    model, program, pool = planned(candidate, plan)
    living = sorted(model.lengths)
    if not living:
        return
    seq = living.pop(which % len(living))
    pool.free(seq)
    model.free(seq)
    free, num_free = pool.read("num_free_blocks", probe=True), model.num_free()
    call = ("fork", living[0], seq) if by_fork and living else ("allocate", seq, tokens)
    if not getattr(model, call[0])(*call[1:]):
        return
    table = pool.call(*call)
    with program.probing():
        after = look(pool, model, (FREE, TABLES, LENGTHS))
    program.run()
    assert pool.value
    if not free.ok or free.value != num_free:
        return  # it went wrong before
    blocks = whole_numbers(table, "blocks")
    equal(after[LENGTHS][seq], model.lengths[seq], what="the tokens of the new sequence")
    equal(after[TABLES][seq], blocks, what="the table of the new sequence")
    equal(after[FREE], model.num_free(), what="free blocks")
    for other in living:
        equal(after[LENGTHS][other], model.lengths[other], what=f"the tokens of {other!r}")


@edge(
    "R11",
    why="-1 is the padding of block tables. If it wraps round to the last block, padding counts "
    "as a page.",
    ask="What does the container do with the index -1?",
)
@given(st.integers(1, 5), st.integers(0, 3))
@example(2, 0)
def test_a_block_id_out_of_range_is_refused(candidate, num_blocks, beyond):
    """a block id outside the pool is refused"""
    pool = candidate.in_turn().PagedAllocator(num_blocks, 2)
    pool.allocate("x", 1)
    attempts = [pool.attempt("ref_count", i) for i in (-1 - beyond, num_blocks + beyond)]
    for attempt in attempts:
        refused(attempt, "ValueError", "KeyError")


@edge(
    "R12",
    why="Errors come in bursts. State that is half changed outlives the request that failed.",
    ask="Which errors are found before the first change?",
)
@given(programs(6), st.integers(0, 4), st.integers(0, 10))
@example((4, 2, [("allocate", 0, 3)]), 0, 8)
@example((4, 2, [("allocate", 0, 3), ("allocate", 0, 1)]), 0, 9)
@example((4, 2, [("allocate", 0, 3)]), 0, 7)
def test_a_call_that_raises_changes_nothing(candidate, plan, which, error):
    """a call that raises changes nothing"""
    model, program, pool = planned(candidate, plan)
    refusals = _refusals(sorted(model.lengths), which, model.num_blocks)
    with program.probing():
        before = look(pool, model)
    reply = pool.call(*refusals[error % len(refusals)])
    with program.probing():
        after = look(pool, model)
    program.run()
    assert pool.value
    if reply.asked.error is not None and all(r.ok for _, r in state(before)):
        unchanged(before, after, reply)


def _refusals(living: list[str], which: int, num_blocks: int) -> list[tuple[Any, ...]]:
    calls: list[tuple[Any, ...]] = [
        ("allocate", "new", -1),
        ("append", "nobody", 1),
        ("fork", "nobody", "new"),
        ("free", "nobody"),
        ("block_table", "nobody"),
        ("ref_count", num_blocks),
    ]
    if living:
        seq = living[which % len(living)]
        calls += [
            ("allocate", seq, 1),
            ("append", seq, -1),
            ("fork", seq, seq),
            ("fork", living[0], living[-1]),
            ("allocate", seq, 9 * num_blocks),
        ]
    return calls


@edge(
    "R13",
    why="An engine pads the table for its kernel. If that is the live list, the padding becomes "
    "part of the sequence.",
    ask="Which calls hand out a list that the allocator keeps using?",
)
@given(st.sampled_from(["allocate", "fork", "block_table"]), st.booleans())
@example("allocate", True)
@example("fork", True)
@example("block_table", True)
@example("block_table", False)
def test_a_returned_list_belongs_to_the_caller(candidate, source, padded):
    """a returned list belongs to the caller"""
    program = candidate.program()
    pool = program.PagedAllocator(8, 2)
    first = pool.allocate("x", 3)
    asked = {
        "allocate": lambda: first,
        "fork": lambda: pool.fork("x", "y"),
        "block_table": lambda: pool.block_table("x"),
    }[source]()
    if padded:
        asked.append(-1)
    seq = "y" if source == "fork" else "x"
    pool.append(seq, 3)
    kept = asked.copy()
    now = pool.block_table(seq)
    length = pool.num_tokens(seq)
    program.run()
    returned = whole_numbers(asked, "blocks")
    if isinstance(asked.value, tuple):
        return  # nobody can change it
    table = whole_numbers(now, "blocks")
    holds(
        -1 not in table and len(table) == 3, "a table of 3 blocks of the pool", str(table), at=now
    )
    equal(length, 6, what="tokens")
    wanted = [*returned, -1] if padded else returned
    equal(kept, wanted, what="the list as it was returned")


@edge(
    "R13",
    why="A server has a pool per device. What one device holds says nothing about the other.",
    ask="What belongs to the class and what to the object?",
)
@given(st.integers(1, 4))
@example(1)
def test_two_allocators_share_nothing(candidate, tokens):
    """two allocators share nothing"""
    plan = candidate.in_turn()
    one, other = plan.PagedAllocator(4, 1), plan.PagedAllocator(4, 1)
    one.allocate("x", tokens)
    others_free, unknown = other.read("num_free_blocks"), other.attempt("block_table", "x")
    other.allocate("x", 4)
    length, free = one.num_tokens("x"), one.read("num_free_blocks")
    equal(others_free, 4, what="free blocks of the other")
    refused(unknown, "KeyError")
    equal(length, tokens, what="tokens of the first")
    equal(free, 4 - tokens, what="free blocks of the first")


# ---------------------------------------------------------------- cost

REPEATS = 60  # calls timed together, so that one of them is measurable
Fill = Callable[[Reply], None]
Step = Callable[[Reply, str], None]


def _timed(candidate: Candidate, num_blocks: int, fill: Fill, step: Step) -> Any:
    """Fill a pool; a plan of the same calls on it, again and again."""
    setup = candidate.program(echo=False)
    pool = setup.PagedAllocator(num_blocks, 2)
    fill(pool)
    setup.run()
    setup.all_answered()

    ids = (f"s{number}" for number in count())

    def plan(program: Program) -> None:
        again = Reply(candidate, pool.asked, program)
        for _ in range(REPEATS):
            step(again, next(ids))

    return plan


def _come_and_gone(pool: Reply, num_blocks: int) -> None:
    pool.allocate("filler", num_blocks // 4)
    for position in range(8):
        pool.allocate(f"old{position}", 40)
    pool.free("old3")
    pool.free("old5")


def _one_of_each(pool: Reply, seq: str) -> None:
    pool.allocate(seq, 1)
    pool.fork(seq, seq + "f")
    pool.append(seq)
    pool.ref_count(0)
    pool.read("num_free_blocks")
    pool.free(seq + "f")
    pool.allocate(seq + "l", 50)  # the cost of one block shows when many are taken
    pool.free(seq + "l")
    pool.free(seq)


@cost(
    "R14",
    why="A pool has a hundred thousand pages or more, and every step of every sequence asks it. A "
    "walk over it is slower than the model.",
    ask="What is read when one block is taken?",
)
def test_work_does_not_grow_with_the_pool(candidate):
    """an operation's work does not grow with the pool"""
    stays_level(
        candidate,
        lambda size: _timed(
            candidate, size, partial(_come_and_gone, num_blocks=size), _one_of_each
        ),
        small=1_000,
        large=200_000,
        of="blocks in the pool",
        sketch=[
            "a = PagedAllocator(200_000, 2)",
            "a.allocate('s', 1)  # timed: this and the calls below, 60 times each",
            "a.fork('s', 'f')",
            "a.append('s')",
            "a.ref_count(0)",
            "a.num_free_blocks",
            "a.free('f')",
            "a.allocate('long', 50)",
            "a.free('long')",
            "a.free('s')",
        ],
    )


def _forks_of_a_prompt(pool: Reply, forks: int) -> None:
    pool.allocate("prompt", 3)
    for position in range(forks):
        pool.fork("prompt", f"o{position}")


def _one_fork_more(pool: Reply, seq: str) -> None:
    pool.fork("prompt", seq)
    pool.append(seq)
    pool.ref_count(0)
    pool.free(seq)


@cost(
    "R14",
    why="The cost of one step would grow with the square of the load.",
    ask="How does append know that a block is shared?",
)
def test_work_does_not_grow_with_other_sequences(candidate):
    """an operation's work does not grow with the other sequences"""
    stays_level(
        candidate,
        lambda size: _timed(
            candidate, 4 * size + 400, partial(_forks_of_a_prompt, forks=size), _one_fork_more
        ),
        small=10,
        large=8_000,
        of="other sequences",
        sketch=[
            "a = PagedAllocator(32_400, 2)",
            "a.allocate('prompt', 3)",
            "for i in range(8_000): a.fork('prompt', f'o{i}')",
            "a.fork('prompt', 's')  # timed: this and the calls below, 60 times each",
            "a.append('s')",
            "a.ref_count(0)",
            "a.free('s')",
        ],
    )


@cost(
    "R14",
    why="Decoding a long text becomes quadratic in its length, on the one thread that feeds the "
    "device.",
    ask="Which part of the table does one token touch?",
)
def test_append_does_not_walk_its_table(candidate):
    """appending one token does not walk the table"""
    stays_level(
        candidate,
        lambda size: _timed(
            candidate,
            size + 400,
            lambda pool: pool.allocate("x", 2 * size),
            lambda pool, _: pool.append("x"),
        ),
        small=100,
        large=100_000,
        of="blocks in its table",
        sketch=[
            "a = PagedAllocator(100_400, 2)",
            "a.allocate('x', 200_000)",
            "a.append('x')  # timed, 60 times",
        ],
    )
