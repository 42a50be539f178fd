"""What a continuous batching scheduler must hold, judged from its own answers.

A workload is planned ahead and crosses in one trip. A book then follows the answers one by one: who
runs, what is computed, what each request knows. Where the statement leaves a choice open the book
goes where the candidate went, so each step is judged from the state that the candidate's own
answers led to. A check looks at its own claim only.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from harness.suite import Broke, behaviour, edge, holds, invariant, refused
from harness.suite.pictures import timeline

NAMES = ("kiwi", "apple", "plum", "fig", "mango", "date")  # arrival is not the alphabet's order
LOOKS = ("num_free_blocks", "running", "waiting")
RECORDS = {"schedule": ("scheduled", "preempted")}


# Workloads. Moment 2 n is the n-th schedule, moment 2 n + 1 its update.


@dataclass(frozen=True, slots=True)
class Limits:
    max_num_seqs: int
    token_budget: int
    num_blocks: int
    block_size: int

    def blocks(self, tokens: int) -> int:
        return -(-tokens // self.block_size)


@dataclass(frozen=True, slots=True)
class Add:
    name: str
    prompt_len: int
    max_new_tokens: int
    at: int = 0  # before this moment


@dataclass(frozen=True, slots=True)
class Abort:
    name: str
    at: int  # before this moment


@dataclass(frozen=True, slots=True)
class Stop:
    name: str
    at: int  # the moment of an update in which it samples


Event = Add | Abort | Stop


@dataclass(frozen=True, slots=True)
class Workload:
    limits: Limits
    events: tuple[Event, ...]
    turns: int = 12


def load(limits: tuple[int, int, int, int], *events: Event, turns: int = 12) -> Workload:
    """Written by hand: the limits are slots, token budget, blocks, block size."""
    return Workload(Limits(*limits), events, turns)


def one_by_one(limit: Limits, adds: Iterable[Add]) -> int:
    """The steps that these requests take one after the other."""
    return sum(-(-a.prompt_len // limit.token_budget) + a.max_new_tokens - 1 for a in adds)


def until_the_end(work: Workload) -> Workload:
    """All arrivals at the start, and as many turns as they take one after the other."""
    adds = tuple(replace(add, at=0) for add in work.events)
    return Workload(work.limits, adds, one_by_one(work.limits, adds))


def limits(raw: bytes) -> Limits:
    return Limits(1 + raw[0] % 4, 1 + raw[1] % 9, 2 + raw[2] % 5, 1 + raw[3] % 4)


def arrivals(limit: Limits, raw: bytes) -> tuple[Add, ...]:
    """The first comes at once. Each fits alone, with a token to spare; together they mostly do not.

    (The exact fit has a check of its own: who refuses it must not fail all the others too.)
    """
    adds: list[Add] = []
    for name, size, part, at in zip(NAMES, raw[::3], raw[1::3], raw[2::3], strict=False):
        tokens = 1 + size % (limit.num_blocks * limit.block_size - 1)
        new = 1 + part % tokens
        adds.append(Add(name, tokens - new + 1, new, at % 7 if adds else 0))
    return tuple(adds)


def workloads(turns: int = 12) -> st.SearchStrategy[Workload]:
    """Read from bytes, which are quick to draw; fewer and smaller ones are a smaller workload."""

    def read(raw: bytes) -> Workload:
        limit = limits(raw)
        adds = arrivals(limit, raw[4:])
        return Workload(limit, adds, min(turns, 3 + one_by_one(limit, adds)))

    return st.binary(min_size=7, max_size=22).map(read)


BUDGET_OF_ONE = load((2, 1, 4, 2), Add("b", 3, 2), Add("a", 1, 3), turns=8)
THRASHING = load((2, 8, 3, 2), Add("b", 1, 5), Add("a", 2, 4), turns=14)

BY_HAND = (
    # one request, one token: it ends in the step that computes its prompt
    load((1, 1, 2, 1), Add("a", 1, 1), turns=2),
    # one request that needs the whole pool
    load((1, 4, 2, 2), Add("a", 3, 1), turns=2),
    # a budget of 1, and two that could run
    BUDGET_OF_ONE,
    # a prompt longer than the budget, then one that takes what is left of it
    load((2, 4, 4, 2), Add("b", 6, 2), Add("a", 2, 2), turns=6),
    # both decode, the older needs a block: the younger gives way and comes back, again and again
    THRASHING,
    # the younger needs a block itself and is the last: it preempts itself
    load((2, 8, 2, 2), Add("b", 1, 3), Add("a", 2, 2), turns=8),
    # two need a block in one step, two give way
    load((4, 8, 4, 2), Add("d", 2, 3), Add("a", 2, 3), Add("c", 1, 3), Add("b", 1, 3)),
    # the head of the line does not fit, the one behind it would
    load((3, 9, 4, 2), Add("c", 4, 4), Add("a", 6, 2), Add("b", 1, 1), turns=10),
    # the cheapest victim has been served already
    load((3, 9, 4, 2), Add("b", 1, 4), Add("c", 2, 4), Add("a", 2, 4), turns=14),
    # one slot: the next is admitted in the step after the last one ends
    load((1, 4, 4, 2), Add("c", 1, 1), Add("b", 1, 2), Add("a", 5, 1), turns=8),
    # two end in one step beside a neighbour that goes on, and two wait
    load(
        (3, 6, 6, 2),
        *(Add("f", 1, 2), Add("b", 2, 2), Add("d", 1, 4), Add("a", 1, 1), Add("e", 3, 1)),
        turns=8,
    ),
    # the younger samples two tokens, is preempted, and computes prompt and samples again
    load((2, 6, 3, 4), Add("b", 7, 3), Add("a", 3, 4), turns=8),
    # a prompt in chunks outgrows the pool beside a decoding request
    load((2, 3, 4, 2), Add("b", 2, 5), Add("a", 6, 2), turns=14),
    # its chunk needs two blocks, and one is free
    load((2, 3, 5, 1), Add("b", 1, 3), Add("a", 4, 1), turns=8),
    # no block is free, but there is room in those held
    load((2, 3, 2, 4), Add("b", 1, 3), Add("a", 4, 1), turns=6),
    # what is computed again is cut between the prompt and what was sampled
    load((2, 2, 3, 2), Add("b", 1, 4), Add("a", 1, 5), turns=14),
    # everything at once in a pool of single tokens
    load((4, 9, 5, 1), Add("d", 1, 4), Add("a", 1, 4), Add("c", 1, 4), Add("b", 1, 4), turns=20),
    # an arrival between a schedule and its update
    load((2, 2, 2, 2), Add("b", 1, 3), Add("a", 1, 2, at=1), turns=6),
)


def on(strategy: st.SearchStrategy[Any], *by_hand: Any) -> Callable[[Any], Any]:
    """Cases written by hand first, then generated ones."""

    def decorate(check: Any) -> Any:
        return reduce(lambda f, case: example(case)(f), reversed(by_hand), given(strategy)(check))

    return decorate


# The book


@dataclass(slots=True)
class Request:
    prompt_len: int
    max_new_tokens: int
    sampled: int = 0
    computed: int = 0
    planned: int = 0  # by the step in flight
    was_preempted: bool = False

    @property
    def known(self) -> int:
        return self.prompt_len + self.sampled

    @property
    def missing(self) -> int:
        return self.known - self.computed

    def copy(self) -> "Request":
        return Request(self.prompt_len, self.max_new_tokens, self.sampled, self.computed,
                       self.planned, self.was_preempted)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    scheduled: dict[str, int]
    preempted: list[str]


NO_STEP = Step({}, [])


@dataclass(slots=True)
class Book:
    """What the answers so far say of every request alive.

    `requests` stands in order of arrival, `running` in the order in which the candidate admitted
    them: the same, unless somebody was overtaken.
    """

    limits: Limits
    requests: dict[str, Request] = field(default_factory=dict)
    running: list[str] = field(default_factory=list)

    def copy(self) -> "Book":
        requests = {name: request.copy() for name, request in self.requests.items()}
        return Book(self.limits, requests, list(self.running))

    @property
    def waiting(self) -> list[str]:
        return [name for name in self.requests if name not in self.running]

    @property
    def held(self) -> int:
        return sum(self.limits.blocks(r.computed + r.planned) for r in self.requests.values())

    def sampling(self) -> list[str]:
        """Who samples at the update that comes next."""
        return [n for n, r in self.requests.items() if r.planned and r.planned >= r.missing]

    def ending(self, stopped: Any) -> list[str]:
        """Who finishes at the update that comes next."""
        last = {n for n, r in self.requests.items() if r.sampled + 1 == r.max_new_tokens}
        return [name for name in self.sampling() if name in stopped or name in last]

    def schedule(self, step: Step) -> None:
        for name in step.preempted:
            if name in self.running:
                self.running.remove(name)
                self.requests[name].computed = 0
                self.requests[name].was_preempted = True
        served = [n for n in self.requests if n in step.scheduled and n not in step.preempted]
        self.running += [name for name in served if name not in self.running]
        for name in served:
            self.requests[name].planned = step.scheduled[name]

    def update(self, finished: list[str]) -> None:
        for name in self.sampling():
            self.requests[name].sampled += 1
        for request in self.requests.values():
            request.computed += request.planned
            request.planned = 0
        for name in finished:
            self.forget(name)

    def forget(self, name: str) -> None:
        self.requests.pop(name, None)
        self.running = [other for other in self.running if other != name]


# What the rules ask of one step


def victims(book: Book) -> list[str]:
    """All but the longest front part of the running line that fits with its tokens of the step."""
    left, held = book.limits.token_budget, 0
    for place, name in enumerate(book.running):
        request = book.requests[name]
        tokens = min(request.missing, left)
        left -= tokens
        held += book.limits.blocks(request.computed + tokens)
        if held > book.limits.num_blocks:
            return book.running[place:]
    return []


def allowed(book: Book, step: Step) -> dict[str, tuple[int, int]]:
    """The least and the most tokens each request may be given, those before it given what it was.

    The two differ only where the statement leaves it open: the free blocks do not hold all that
    the head of the line knows.
    """
    left, free = book.limits.token_budget, book.limits.num_blocks
    ranges = {}
    for name in book.running:
        if name not in step.preempted:
            request, given_tokens = book.requests[name], step.scheduled.get(name, 0)
            ranges[name] = (min(request.missing, left),) * 2
            left = max(0, left - given_tokens)
            free = max(0, free - book.limits.blocks(request.computed + given_tokens))
    slots = book.limits.max_num_seqs - len(ranges)
    is_open = False
    for name in book.waiting:
        known, given_tokens = book.requests[name].known, step.scheduled.get(name, 0)
        most = min(known, left, free * book.limits.block_size)
        if step.preempted or slots <= 0 or most == 0:
            break
        is_open = is_open or book.limits.blocks(known) > free
        ranges[name] = (0 if is_open else most, most)
        if given_tokens == 0:
            break  # whoever stays in the line keeps those behind it there
        slots -= 1
        left = max(0, left - given_tokens)
        free = max(0, free - book.limits.blocks(given_tokens))
    return ranges


# Playing a workload


@dataclass(slots=True)
class Moment:
    """One call, the book on either side of it, and what was seen after it."""

    call: str  # empty for one that was refused, as it should be
    arguments: tuple[Any, ...]
    before: Book
    after: Book
    step: Step
    finished: list[str]
    seen: dict[str, Any]
    reply: Any
    looks: dict[str, Any]
    steps: list[tuple[Book, Step]]  # all of the run, shared; the first `num_steps` are up to here
    num_steps: int

    def holds(self, condition: bool, wanted: str, got: str, *looks: str) -> None:
        """Break unless the condition holds, showing this call and these looks after it."""
        shown = [self.reply, *(self.looks[look] for look in looks)]
        holds(condition, wanted, got, at=shown[-1], also=shown[:-1], picture=self.picture)

    def picture(self) -> dict[str, Any]:
        """The schedule up to this call, for a report to draw; its last step is marked."""
        steps = self.steps[: self.num_steps]
        names = dict.fromkeys(name for book, _ in steps for name in book.requests)
        rows = {name: [did(name, book, step) for book, step in steps] for name in names}
        return timeline(rows, marked=[(name, self.num_steps - 1) for name in self.step.scheduled])


def did(name: str, before: Book, step: Step) -> tuple[str, str]:
    """What one request did in one step, and with how many tokens."""
    if name in step.preempted:
        return "stops", ""
    if name in step.scheduled:
        return "runs", str(step.scheduled[name])
    return ("waits", "") if name in before.requests else ("", "")


class Play:
    """A scheduler under a workload: calls are planned, sent together, and followed in the book.

    A step with nobody alive is looked at only where `empty_steps` says so: it has a check of its
    own, and what is wrong with it must not fail all the others too.
    """

    def __init__(self, candidate: Any, limit: Limits, *looks: str,
                 empty_steps: bool = False) -> None:  # fmt: skip
        self.book = Book(limit)
        self._candidate = candidate
        self._looks = looks
        self._empty_steps = empty_steps
        self._is_idle = False
        self._program = candidate.program(echo=False)
        self._made = self._program.Scheduler(**asdict(limit))
        self._planned: list[tuple[Any, ...]] = []
        self._steps: list[tuple[Book, Step]] = []

    def ask(self, call: str, *arguments: Any, error: str = "") -> None:
        """Plan one call, which must raise `error` if that is given, and the looks after it."""
        reply = self._program.plan("call", self._made.asked, call, arguments, {})
        looks = {look: self._look(look) for look in self._looks}
        self._planned.append((call, error, arguments, reply, looks))

    def _look(self, name: str) -> Any:
        return self._program.plan("read", self._made.asked, name, (), {}, probe=True)

    def plan(self, work: Workload, moment: int, stopped: Any = ()) -> None:
        """Plan what the workload has at this moment: its events, then schedule or update."""
        now = [event for event in work.events if event.at == moment]
        for event in now:
            if isinstance(event, Abort):
                self.ask("abort", event.name)
            elif isinstance(event, Add):
                self.ask("add_request", event.name, event.prompt_len, event.max_new_tokens)
        stopped = stopped or [event.name for event in now if isinstance(event, Stop)]
        if moment % 2 == 0:
            self.ask("schedule")
        else:
            self.ask("update", *([stopped] if stopped else []))

    def run(self) -> Iterator[Moment]:
        """Send what is planned, then follow it, one call at a time."""
        planned, self._planned = self._planned, []
        program, self._program = self._program, self._candidate.program(echo=False)
        program.run()
        self._made.value  # noqa: B018 - raises what the constructor raised
        return self._followed(planned)

    def run_unjudged(self) -> None:
        for _ in self.run():
            pass

    def _followed(self, planned: list[Any]) -> Iterator[Moment]:
        for call in planned:
            if call[0] == "schedule":
                self._is_idle = not self.book.requests and not self._empty_steps
            if not self._is_idle or call[0] not in ("schedule", "update"):
                yield self._follow(*call)

    def _follow(self, call: str, error: str, arguments: Any, reply: Any, looks: Any) -> Moment:
        before, self.book = self.book, self.book.copy()
        step, finished = NO_STEP, []
        if error:
            refused(reply, error)
        elif call == "schedule":
            step = as_step(reply)
            self.book.schedule(step)
            self._steps.append((before, step))
        elif call == "update":
            finished = as_names(reply)
            self.book.update(finished)
        elif call == "add_request":
            reply.value  # noqa: B018 - raises what the call raised
            self.book.requests[arguments[0]] = Request(*arguments[1:])
        elif arguments[0] in before.requests or not reply.raised("KeyError"):
            reply.value  # noqa: B018 - an abort after the end may raise KeyError
            self.book.forget(arguments[0])
        seen = {name: as_look(name, look) for name, look in looks.items()}
        call = "" if error else call
        return Moment(call, arguments, before, self.book, step, finished, seen, reply, looks,
                      self._steps, len(self._steps))  # fmt: skip


def moments(candidate: Any, work: Workload, *looks: str, empty_steps: bool = False) -> Any:
    """Run the whole workload in one trip and follow it."""
    play = Play(candidate, work.limits, *looks, empty_steps=empty_steps)
    for moment in range(2 * work.turns):
        play.plan(work, moment)
    return play.run()


def as_step(reply: Any) -> Step:
    value = reply.value
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], dict):
        scheduled, preempted = value
        are_counts = all(type(n) is str and type(t) is int for n, t in scheduled.items())
        if are_counts and are_names(preempted):
            return Step(scheduled, list(preempted))
    raise Broke("a dict of tokens by id and a list of ids", repr(value), at=reply)


def as_names(reply: Any) -> list[str]:
    holds(are_names(reply.value), "a list of ids", repr(reply.value), at=reply)
    return list(reply.value)


def are_names(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset)) and all(type(n) is str for n in value)


def as_look(name: str, look: Any) -> Any:
    if name != "num_free_blocks":
        return as_names(look)
    holds(type(look.value) is int, "a whole number of free blocks", repr(look.value), at=look)
    return look.value


def words(names: Any) -> str:
    return ", ".join(names) or "nobody"


def count(number: int, what: str = "token") -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


# Judgements that several checks make


def judge_blocks(m: Moment) -> None:
    pool, held, free = m.after.limits.num_blocks, m.after.held, m.seen["num_free_blocks"]
    m.holds(held <= pool, f"at most {count(pool, 'block')} held", f"{held}")
    m.holds(free == pool - held, f"{count(pool - held, 'free block')}", f"{free}", LOOKS[0])


def judge_lines(m: Moment) -> None:
    for line in ("running", "waiting"):
        wanted, got = getattr(m.after, line), m.seen[line]
        m.holds(got == wanted, f"{line}: {words(wanted)}", words(got), line)


def judge_shares(m: Moment, names: Any) -> None:
    """Each of the names that may have tokens in this step has as many as it should.

    Who may have none is the business of the budget, the slots and the line.
    """
    ranges = allowed(m.before, m.step) if m.call == "schedule" else {}
    for name in names:
        least, most = ranges.get(name, (0, 0))
        tokens = m.step.scheduled.get(name, 0)
        wanted = f"{'' if least else 'at most '}{count(most)} for {name}"
        m.holds(most == 0 or least <= tokens <= most, wanted, f"{tokens or 'none'}")


def judge_ends(m: Moment) -> None:
    if m.call == "update":
        wanted = m.before.ending(m.arguments[0] if m.arguments else ())
        is_equal = sorted(m.finished) == sorted(wanted)
        m.holds(is_equal, f"{words(wanted)} to finish", words(m.finished))


def judge_the_same(m: Moment, other: Moment) -> None:
    """Two schedulers that were told the same answer the same, up to what may be in any order."""
    m.holds(m.step.scheduled == other.step.scheduled, f"{other.step.scheduled}, as without",
            f"{m.step.scheduled}")  # fmt: skip
    for here, there in ((m.step.preempted, other.step.preempted), (m.finished, other.finished)):
        m.holds(sorted(here) == sorted(there), f"{words(there)}, as without", words(here))
    for look, there in other.seen.items():
        m.holds(m.seen[look] == there, f"{look} {there}, as without", f"{m.seen[look]}", look)


# After every call


@invariant(
    "R3",
    why="Buffers and captured graphs are made for the budget. A step above it fails under load, "
    "or makes everybody's next token late.",
    ask="Which tokens of a step are charged to the budget, and in which line?",
    examples=0.5,
)
@on(workloads(), *BY_HAND)
def test_no_step_exceeds_the_token_budget(candidate, work):
    """no step computes more tokens than the budget"""
    for m in moments(candidate, work):
        total, most = sum(m.step.scheduled.values()), work.limits.token_budget
        m.holds(total <= most, f"at most {count(most)} in a step", f"{total}")


@invariant(
    "R1",
    why="Sampling buffers and block tables have one row a slot. One request more writes past them.",
    ask="When does a request take its slot, and when does it give it back?",
    examples=0.5,
)
@on(workloads(), *BY_HAND)
def test_no_more_run_than_there_are_slots(candidate, work):
    """no more requests run than there are slots"""
    for m in moments(candidate, work, "running"):
        most, running = work.limits.max_num_seqs, m.seen["running"]
        m.holds(len(running) <= most, f"at most {most} running", words(running), "running")


@invariant(
    "R2",
    why="A block that nobody holds and the pool has lost is gone until restart; one that counts as "
    "free and is held is written by two requests.",
    ask="At which calls does the number of free blocks change, and by how much?",
)
@on(workloads(), *BY_HAND)
def test_every_block_is_held_or_free(candidate, work):
    """each running request holds the blocks of its tokens, and all the others are free"""
    for m in moments(candidate, work, "num_free_blocks"):
        judge_blocks(m)


@invariant(
    "R1",
    why="The engine acts on both lists. A request in neither is never served again, one in both is "
    "served twice.",
    ask="What keeps the two lists in order of arrival, without sorting?",
)
@on(workloads(), *BY_HAND)
def test_both_lines_stand_in_order_of_arrival(candidate, work):
    """everyone alive is running or waiting, each line in order of arrival"""
    for m in moments(candidate, work, "running", "waiting"):
        judge_lines(m)


@invariant(
    "R6",
    why="If short prompts may pass a long one that does not fit, there is always another short "
    "one, and the long one waits until its client gives up.",
    ask="What does admission do when the first in line does not fit?",
)
@on(workloads(), *BY_HAND)
def test_nobody_is_overtaken(candidate, work):
    """nobody is admitted past those before it in the line"""
    line: list[str] = []  # as the candidate shows it; that it is in order has a check of its own
    for m in moments(candidate, work, "waiting"):
        admitted = [name for name in line if name in m.step.scheduled]
        first = line[: len(admitted)]
        m.holds(admitted == first, f"{words(first)} to be admitted", words(admitted))
        line = m.seen["waiting"]


@invariant(
    "R7",
    why="A token computed twice shifts every position after it; one left out leaves a hole in the "
    "cache. Both read as fluent, wrong text.",
    ask="Which number says where the next chunk starts, and who changes it?",
)
@on(workloads(turns=20), *BY_HAND)
def test_every_known_token_is_computed_once(candidate, work):
    """each known token is computed exactly once, but again after a preemption"""
    for m in moments(candidate, work):
        for name, request in m.before.requests.items():
            tokens, missing = m.step.scheduled.get(name, 0), request.missing
            m.holds(tokens <= missing, f"at most {count(missing)} for {name}", f"{tokens}")
            computed = request.computed + request.planned
            wanted = f"{name} to end with {count(request.known)} computed"
            m.holds(name not in m.finished or computed == request.known, wanted, f"{computed}")


# What was asked


@behaviour(
    "R3",
    why="Somebody reads the answer while it is written. Prompts that go first make the text of "
    "everybody else stutter.",
    ask="In which order is the budget handed out, and what happens to the last in that order?",
)
@on(workloads(), *BY_HAND)
def test_running_requests_come_first_and_get_their_tokens(candidate, work):
    """running requests come first, the oldest first, each with all it has to compute"""
    for m in moments(candidate, work):
        judge_shares(m, m.before.running)


@behaviour(
    "R4",
    why="Any other victim throws away more work, or work of this very step, and the oldest request "
    "is no longer sure to end.",
    ask="Who is preempted when the request that needs a block is itself the last arrival?",
)
@on(workloads(), *BY_HAND)
def test_the_last_arrival_gives_way_and_only_for_blocks(candidate, work):
    """blocks run out: the last arrivals give way, no more of them than needed, and nobody else"""
    for m in moments(candidate, work):
        wanted = victims(m.before) if m.call == "schedule" else []
        gone = m.step.preempted
        m.holds(sorted(gone) == sorted(wanted), f"{words(wanted)} preempted", words(gone))
        both = [name for name in gone if name in m.step.scheduled]
        m.holds(not both, "no tokens for the preempted", f"tokens for {words(both)}")


@behaviour(
    "R5",
    why="The keys of a preempted request are gone, its words are with the user. Recompute too "
    "little and it goes on from a past it never wrote; forget the words and they are sent twice.",
    ask="Which of a request's numbers change when it is preempted, and which must not?",
)
@on(workloads(turns=20), *BY_HAND)
def test_a_preempted_request_leads_the_line_and_starts_over(candidate, work):
    """a preempted request leads the line and computes its prompt and all it sampled again"""
    for m in moments(candidate, work, "waiting"):
        gone = [name for name in m.before.running if name in m.step.preempted]
        line = m.seen["waiting"]
        m.holds(line[: len(gone)] == gone, f"{words(gone)} first in line", words(line), "waiting")
        judge_shares(m, [name for name, r in m.before.requests.items() if r.was_preempted])


@behaviour(
    "R6",
    why="A prompt admitted on the blocks of a victim is the next victim. The engine computes "
    "prompts all day and finishes none.",
    ask="What would the next step do with a request admitted now?",
    examples=0.5,
)
@on(workloads(), *BY_HAND)
def test_a_step_that_preempts_admits_nobody(candidate, work):
    """a step that preempts admits nobody"""
    for m in moments(candidate, work):
        admitted = [n for n in (*m.before.waiting, *m.step.preempted) if n in m.step.scheduled]
        is_kept = not (m.step.preempted and admitted)
        m.holds(is_kept, "nobody admitted in a step that preempts", words(admitted))


@behaviour(
    "R6",
    why="A slot, a budget and blocks that stay empty while somebody waits are throughput paid for "
    "and not used.",
    ask="Which three things can stop an admission, and which of them cut a prompt instead?",
)
@on(workloads(), *BY_HAND)
def test_the_head_of_the_line_is_admitted_when_there_is_room(candidate, work):
    """the head of the line is admitted when slots, budget and blocks allow, in chunks if need be"""
    for m in moments(candidate, work):
        judge_shares(m, m.before.waiting)


@behaviour(
    "R8",
    why="One token too many is computed, stored and billed, past the end of text. One too few cuts "
    "the answer. A missed stop runs to the maximum.",
    ask="At which moment is a token counted as sampled, and when is the end looked at?",
)
@on(
    st.tuples(workloads(turns=16), st.binary(max_size=8)),
    (load((1, 4, 2, 2), Add("a", 2, 2), turns=1), bytes([1])),
    (load((1, 2, 4, 2), Add("a", 3, 2), turns=3), bytes([0])),
    (load((2, 2, 4, 2), Add("b", 3, 2), Add("a", 1, 3), turns=6), bytes([0, 1, 1])),
    (load((3, 6, 4, 2), Add("b", 1, 3), Add("c", 1, 3), Add("a", 1, 3), turns=2), bytes([6])),
    *((work, bytes([0, 1, 0, 2])) for work in BY_HAND),
)
def test_a_request_ends_after_exactly_its_tokens_or_at_its_stop(candidate, case):
    """a request ends with its last token or at its stop, and is reported then, once"""
    work, marks = case
    play = Play(candidate, work.limits)
    for turn in range(work.turns):
        play.plan(work, 2 * turn)
        play.run_unjudged()
        mark = marks[turn % len(marks)] if marks else 0  # its bits: who of those sampling
        stopped = [n for place, n in enumerate(play.book.sampling()) if mark >> place & 1]
        play.plan(work, 2 * turn + 1, (list, tuple, frozenset)[turn % 3](stopped))
        for m in play.run():
            judge_ends(m)


@behaviour(
    "R11",
    why="An engine in which everybody waits for somebody else's blocks answers its health checks "
    "and no request. Only a restart helps.",
    ask="Which request is sure to move at every step, and why can nobody take its blocks?",
)
@on(workloads().map(until_the_end), *map(until_the_end, BY_HAND))
def test_every_accepted_workload_ends(candidate, work):
    """everything accepted ends, in no more steps than one request after the other would take"""
    play = Play(candidate, work.limits)
    for start in range(0, work.turns, 8):
        for moment in range(2 * start, 2 * min(start + 8, work.turns)):
            play.plan(work, moment)
        for m in play.run():
            last = m
        if not play.book.requests:
            return
    wanted = f"all to finish within {count(work.turns, 'step')}"
    raise Broke(wanted, f"{words(play.book.requests)} left", at=last.reply)


def with_aborts(work: Workload, raw: bytes) -> Workload:
    """Some of the requests are aborted, so many moments after they arrived; 0: not at all."""
    lasts = [(add, moments % 12) for add, moments in zip(work.events, raw, strict=False)]
    gone = [Abort(add.name, add.at + moments) for add, moments in lasts if moments]
    return replace(work, events=(*work.events, *gone))


@behaviour(
    "R9",
    why="Clients go away at every moment. What an abort leaves behind, a block, a place in line, a "
    "token in flight, adds up until the engine is full of nobody.",
    ask="What does update do with a request that was aborted after schedule?",
)
@on(
    st.builds(with_aborts, workloads(), st.binary(min_size=1, max_size=6)),
    *(
        replace(work, events=(*work.events, Abort(name, at)))
        for work in (BUDGET_OF_ONE, THRASHING)
        for name in ("b", "a")
        for at in range(1, 10)
    ),
    load((1, 1, 4, 2), *(Add(name, 1, 1) for name in "bdca"), Abort("d", 1), turns=5),
)
def test_an_aborted_request_leaves_nothing_behind(candidate, work):
    """an abort at any moment leaves nothing behind, and nobody else notices"""
    has_aborted = False
    for m in moments(candidate, work, *LOOKS):
        has_aborted = has_aborted or m.call == "abort"
        if has_aborted:
            for name in (*m.step.scheduled, *m.step.preempted, *m.finished):
                m.holds(name in m.before.requests, f"{m.call} to name living requests", name)
            judge_shares(m, m.before.waiting)
            judge_ends(m)
            judge_blocks(m)
            judge_lines(m)


# Legal but unkind


@edge(
    "R3",
    why="The smallest budget is what is left for a prompt on a busy server. Code that cuts a chunk "
    "to 0 tokens or needs 2 stands still there.",
    ask="What is the smallest chunk, and what is admitted when the budget is spent?",
    examples=0.5,
)
@on(workloads(), *BY_HAND)
def test_a_budget_of_one_runs_requests_one_by_one(candidate, work):
    """with a budget of 1 the oldest request gets it, and nobody else runs"""
    work = replace(work, limits=replace(work.limits, token_budget=1))
    for m in moments(candidate, work, "running"):
        if m.call == "schedule":
            oldest = dict.fromkeys(list(m.before.requests)[:1], 1)
            got, running = m.step.scheduled, m.seen["running"]
            m.holds(got == oldest, f"{oldest} in the step", f"{got}")
            m.holds(running == list(oldest), f"{words(oldest)} running", words(running), "running")


@edge(
    "R8",
    why="Ends come in bursts. A neighbour that loses a step, or a place that is free one step "
    "late, shows only under load.",
    ask="What may not be changed while the running requests are walked over?",
    examples=0.5,
)
@on(workloads(), *BY_HAND)
def test_what_ends_makes_room_and_takes_nothing_along(candidate, work):
    """what ends in a step makes room for the next, and its neighbours lose nothing"""
    moments_since = 3
    for m in moments(candidate, work):
        moments_since = 0 if m.finished else moments_since + 1
        if moments_since < 3:  # the update in which it ends, the schedule and update that follow
            judge_shares(m, m.before.requests)
            judge_ends(m)


@edge(
    "R10",
    why="A request that can never fit and is taken preempts itself for ever, at the head of the "
    "line. One that fits exactly and is refused is a customer's longest document.",
    ask="How many tokens of a request are ever in the cache at once?",
    examples=0.5,
)
@on(
    st.tuples(st.binary(min_size=4, max_size=4).map(limits), st.integers(1, 24)),
    (Limits(1, 4, 1, 1), 1),
    (Limits(1, 4, 2, 2), 2),
    (Limits(1, 4, 2, 2), 4),
)
def test_a_request_that_can_never_fit_is_refused_at_once(candidate, case):
    """a request one token too long for the pool is refused at once, one that fits exactly runs"""
    limit, new = case
    capacity = limit.num_blocks * limit.block_size
    new = min(new, capacity)
    fits = until_the_end(Workload(limit, (Add("fits", capacity - new + 1, new),)))
    play = Play(candidate, limit)
    play.ask("add_request", "long", capacity - new + 2, new, error="ValueError")
    play.ask("add_request", "talks", 1, capacity + 1, error="ValueError")
    for moment in range(2 * fits.turns):
        play.plan(fits, moment)
    for m in play.run():
        judge_shares(m, m.before.requests)
        judge_ends(m)


@edge(
    "R10",
    why="Clients send an id twice and cancel what has ended. An error that has done half of its "
    "work is found hours later, in somebody else's request.",
    ask="What is the last line of each call that can raise, and what has changed before it?",
    examples=0.5,
)
@on(
    st.tuples(workloads(), st.integers(0, 9)),
    (load((1, 2, 2, 2), Add("b", 2, 2), Add("a", 1, 1), turns=4), 1),
    (load((1, 2, 2, 2), Add("b", 2, 2), Add("a", 1, 1), turns=4), 2),
)
def test_a_refused_call_changes_nothing(candidate, case):
    """a call that raises has changed nothing"""
    work, when = case
    plain, play = (Play(candidate, work.limits, *LOOKS) for _ in range(2))
    for moment in range(when):
        plain.plan(work, moment)
        play.plan(work, moment)
    plain.run_unjudged()
    play.run_unjudged()
    alive = play.book.requests
    for name in alive:
        play.ask("add_request", name, 1, 1, error="ValueError")
    for event in work.events:
        if event.at < when and event.name not in alive:
            play.ask("abort", event.name, error="KeyError")
    capacity = work.limits.num_blocks * work.limits.block_size
    play.ask("add_request", "nobody", capacity + 1, 1, error="ValueError")
    play.ask("abort", "nobody", error="KeyError")
    if when % 2:
        play.ask("update", [*play.book.sampling(), "nobody"], error="KeyError")
    for moment in range(when, 2 * work.turns):
        plain.plan(work, moment)
        play.plan(work, moment)
    followed, without = play.run(), plain.run()
    for m in followed:
        if m.call:
            judge_the_same(m, next(without))


def again(work: Workload, raw: bytes) -> Workload:
    """The oldest request ends, is stopped or aborted, and its id comes back at once or later."""
    how, when, pause, *sizes = raw
    first, others = work.events[0], work.events[1:3]
    end = 2 * one_by_one(work.limits, [first])  # the oldest is never held up
    event: list[Event] = []
    if how % 3 == 1:
        end -= 2 * (when % first.max_new_tokens)
        event = [Stop(first.name, end - 1)]
    elif how % 3 == 2:
        end = 1 + when % (end - 1)
        event = [Abort(first.name, end)]
    (second,) = arrivals(work.limits, bytes([*sizes, 0]))
    back = replace(second, name=first.name, at=end + pause % 3)
    return Workload(work.limits, (first, *others, *event, back), end // 2 + 8)


@edge(
    "R10",
    why="A client that retries sends its old id. If the new request meets anything of the old one, "
    "it starts in the middle of a prompt that was never computed.",
    ask="Under which key is the step in flight remembered, and who else may get that key?",
    examples=0.5,
)
@on(
    st.builds(again, workloads(), st.binary(min_size=5, max_size=5)),
    load((1, 4, 3, 2), Add("a", 3, 2), Add("a", 2, 3, at=4), turns=6),
    load((1, 4, 3, 2), Add("a", 3, 2), Stop("a", 1), Add("a", 2, 3, at=2), turns=6),
    load((1, 4, 3, 2), Add("a", 3, 2), Abort("a", 1), Add("a", 4, 2, at=1), turns=6),
    load((1, 4, 3, 2), Add("a", 3, 2), Abort("a", 2), Add("a", 4, 2, at=2), turns=6),
)
def test_an_id_is_free_again_after_its_end(candidate, work):
    """an id is free again after its end, and its next request is a new one"""
    back = work.events[-1]
    is_back = False
    for m in moments(candidate, work):
        is_back = is_back or m.arguments == (back.name, back.prompt_len, back.max_new_tokens)
        if is_back:
            judge_shares(m, [back.name])
            judge_ends(m)


@edge(
    "R10",
    why="A limit of 0 from a miscounted configuration serves nobody, and says so only by silence.",
    ask="Where should a number that makes no sense be noticed?",
)
@given(st.sampled_from((0, -1)))
def test_a_number_below_one_is_refused(candidate, number):
    """limits and lengths below 1 are a ValueError"""
    for name in asdict(Limits(1, 1, 1, 1)):
        sizes = {**asdict(Limits(2, 2, 2, 2)), name: number}
        refused(candidate.attempt("Scheduler", **sizes), "ValueError")
    play = Play(candidate, Limits(1, 1, 2, 1), *LOOKS)
    play.ask("add_request", "a", number, 1, error="ValueError")
    play.ask("add_request", "a", 1, number, error="ValueError")
    play.ask("add_request", "a", 1, 1)
    for m in play.run():
        judge_lines(m)


@edge(
    "R3",
    why="An engine without work still steps. It must not raise, and not forget to wake up.",
    ask="What does a step look like in which nobody runs?",
    examples=0.5,
)
@on(
    workloads(),
    load((1, 1, 2, 1), turns=2),
    load((1, 1, 2, 1), Add("a", 1, 1, at=2), Add("b", 1, 1, at=6), turns=5),
    load((2, 2, 3, 1), Add("a", 1, 2), Abort("a", 1), Add("b", 1, 2, at=4), turns=6),
)
def test_an_empty_step_is_a_step(candidate, work):
    """with nobody alive a step is empty, and the next arrival is served as usual"""
    later = tuple(replace(event, at=event.at + 2) for event in work.events)
    was_empty = False
    for m in moments(candidate, replace(work, events=later), empty_steps=True):
        is_empty = m.call == "schedule" and not m.before.requests
        is_kept = not is_empty or m.step == NO_STEP
        m.holds(is_kept, "nothing scheduled, nobody preempted", f"{m.step.scheduled}")
        if m.call == "schedule":
            judge_shares(m, m.before.requests if was_empty else [])
            was_empty = is_empty


@edge(
    "R12",
    why="A server runs one scheduler a model. What they share by accident mixes requests of two.",
    ask="Which objects are made once for the class instead of once for each scheduler?",
    examples=0.5,
)
@on(
    st.tuples(workloads(), workloads()),
    (load((1, 2, 2, 2), Add("a", 2, 2)), load((1, 2, 2, 2), Add("a", 1, 2))),
)
def test_two_schedulers_share_nothing(candidate, pair):
    """two schedulers share nothing, the ids included"""
    alone = moments(candidate, replace(pair[0], turns=4), *LOOKS)
    first, second = (Play(candidate, work.limits, *LOOKS) for work in pair)
    for moment in range(8):
        first.plan(pair[0], moment)
        for m in first.run():
            judge_the_same(m, next(alone))
        second.plan(pair[1], moment)
        second.run_unjudged()
