"""A suite of six checks; a hostile answer attacks in one of them, at total([2, 3])."""

from hypothesis import example, given
from hypothesis import strategies as st

from harness.suite import behaviour, edge, equal, invariant, refused

NUMBERS = st.lists(st.integers(10, 99), max_size=4)


@invariant("R1", why="w", ask="a")
@given(NUMBERS)
@example([2, 3])
def test_total_is_the_sum(candidate, numbers):
    """a total is the sum"""
    reply = candidate.attempt("total", numbers)
    equal(reply.value, sum(numbers), at=reply)


@behaviour("R1", why="w", ask="a")
def test_one_number_is_its_own_total(candidate):
    """one number is its own total"""
    equal(candidate.total([1]), 1)


@behaviour("R2", why="w", ask="a")
@given(NUMBERS)
def test_add_gives_the_sum_so_far(candidate, numbers):
    """add gives the sum so far"""
    program = candidate.program()
    tally = program.Tally()
    replies = [tally.add(number) for number in numbers]
    program.run()
    for count, reply in enumerate(replies, start=1):
        equal(reply.value, sum(numbers[:count]), at=reply)


@edge("R1", why="w", ask="a")
def test_nothing_is_zero(candidate):
    """nothing adds up to zero"""
    equal(candidate.total([]), 0)


@edge("R3", why="w", ask="a", arguments=True)
def test_the_list_is_left_alone(candidate):
    """the list is left as it was"""
    candidate.total([30, 10, 20])


@edge("R4", why="w", ask="a")
def test_a_text_is_refused(candidate):
    """a text is a TypeError"""
    refused(candidate.attempt("total", "12"), "TypeError")
