"""A plan looked at in turn breaks where its calls, made one by one, would have broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from harness.remote.faults import CandidateFault, Kind
from harness.remote.session import Session, Submission
from harness.sandbox.base import Spec
from harness.sandbox.local import LocalSandbox
from harness.suite import Broke, Candidate, Raised, Reply, equal, refused
from harness.suite.script import script
from tests.packs import REFERENCE

Answer = Callable[[str, str], Candidate]


@pytest.fixture
def answer() -> Iterator[Answer]:
    """The reference with a text replaced, in a worker."""
    with ExitStack() as running:

        def started(old: str, new: str) -> Candidate:
            assert old in REFERENCE
            source = REFERENCE.replace(old, new).encode()
            session = Session(LocalSandbox(), Spec(), Submission("counter", source, "counter.py"))
            running.callback(session.close)
            return Candidate(session)

        yield started


def planned(candidate: Candidate) -> list[Reply]:
    """A counter, two ups that should go well, one that should not, and a look."""
    counter = candidate.in_turn().Counter(1)
    ups = [counter.up(2), counter.up(3), counter.attempt("up", -1)]
    return [*ups, counter.read("count")]


def test_what_an_attempt_raises_stops_no_look_after_it(answer: Answer) -> None:
    two, three, refusal, count = planned(answer("", ""))

    equal(two, 3)
    equal(three, 6)
    refused(refusal, "ValueError")
    equal(count, 6)


def test_nothing_crosses_before_a_look_and_everything_with_it(answer: Answer) -> None:
    candidate = answer("", "")
    *_, count = planned(candidate)

    assert candidate.record.calls == []
    assert count.value == 6
    assert len(candidate.record.calls) == 5


@pytest.mark.parametrize("position", [1, 2, 3])
def test_a_look_meets_the_first_call_before_it_that_raised(answer: Answer, position: int) -> None:
    candidate = answer("if by < 0", "if by != 1")
    looked_at = planned(candidate)[position]

    with pytest.raises(Raised) as raised:
        refused(looked_at, "ValueError") if position == 2 else equal(looked_at, 6)
    assert script(candidate.record.up_to([raised.value.call])) == [
        "a = Counter(1)",
        "a.up(2)  # raises ValueError",
    ]


def test_a_wrong_answer_is_shown_where_it_came_and_without_what_came_after(answer: Answer) -> None:
    candidate = answer("return self.count", "return by")
    two, *_ = planned(candidate)

    with pytest.raises(Broke) as broke:
        equal(two, 3, what="the count")
    assert (broke.value.wanted, broke.value.got) == ("the count: 3", "2")
    assert script(candidate.record.up_to(broke.value.shown)) == [
        "a = Counter(1)",
        "a.up(2)  # -> 2",
    ]


def test_a_crash_is_charged_to_its_call(answer: Answer) -> None:
    candidate = answer(
        "self.count += by", "self.count += by if by < 3 else __import__('os')._exit(7)"
    )
    two, *_ = planned(candidate)

    with pytest.raises(CandidateFault) as crashed:
        equal(two, 3)
    assert crashed.value.fault.kind is Kind.CRASHED
    assert [call.args for call in candidate.record.calls if call.fault] == [(3,)]
