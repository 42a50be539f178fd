"""Pictures as data: every builder keeps to its schema, whatever it is given."""

from __future__ import annotations

import json
import math

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from harness.suite import pictures
from harness.suite.pictures import Picture

NAMES = st.text(max_size=40)
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


def fits(picture):
    """The picture, having gone through JSON as a result does."""
    return msgspec.convert(json.loads(msgspec.json.encode(picture)), Picture)


@given(
    st.dictionaries(NAMES, st.lists(st.integers(), max_size=90), max_size=20),
    st.integers(0, 200),
    st.integers(1, 9),
    st.lists(st.integers(), max_size=5),
)
def test_a_pool_fits(tables, num_blocks, block_size, marked):
    tokens = dict.fromkeys(tables, 3)
    made = pictures.block_pool(
        tables, tokens, num_blocks=num_blocks, block_size=block_size, marked=marked
    )
    assert isinstance(fits(made), pictures.BlockPool)


@given(
    st.dictionaries(
        NAMES,
        st.lists(st.tuples(st.sampled_from(["runs", "waits", "stops", ""]), NAMES), max_size=60),
    )
)
def test_a_timeline_fits(rows):
    assert isinstance(fits(pictures.timeline(rows)), pictures.Timeline)


@given(st.dictionaries(st.integers(0, 60), NUMBERS), st.dictionaries(st.integers(0, 60), NUMBERS))
def test_a_distribution_fits(wanted, got):
    assert isinstance(fits(pictures.distribution(wanted, got, draws=10)), pictures.Distribution)


@given(st.lists(NUMBERS, min_size=1, max_size=300))
def test_errors_fit(values):
    assert isinstance(fits(pictures.errors(values, 0.5, along="token")), pictures.Errors)


@given(st.integers(0, 60), st.integers(0, 60), st.data())
def test_a_grid_fits(rows, columns, data):
    row = st.lists(st.booleans(), min_size=columns, max_size=columns)
    mask = data.draw(st.lists(row, min_size=rows, max_size=rows))
    made = pictures.grid(
        mask, [[not seen for seen in line] for line in mask], rows="q", columns="k"
    )
    assert isinstance(fits(made), pictures.Grid)


def test_a_pool_says_who_holds_what_and_how_full_it_is():
    made = pictures.block_pool(
        {"a": [2, 0], "b": [2]}, {"a": 5, "b": 3}, num_blocks=3, block_size=4
    )
    assert made["blocks"] == [
        {"id": "0", "holders": ["a"], "used": 1},
        {"id": "1", "holders": [], "used": 0},
        {"id": "2", "holders": ["a", "b"], "used": 4},
    ]


def test_of_many_positions_neighbours_share_their_worst():
    made = pictures.errors([0.0] * 100 + [7.0] + [0.0] * 99, 1.0, along="token")
    assert made["width"] == 3
    assert made["values"][33] == 7.0


def test_a_value_that_is_not_finite_is_null():
    assert pictures.errors([1.0, math.nan, math.inf], 1.0, along="token")["values"] == [
        1,
        None,
        None,
    ]


def test_a_large_grid_shows_the_first_difference():
    wanted = [[column <= row for column in range(100)] for row in range(100)]
    got = [
        [seen and (row, column) != (80, 70) for column, seen in enumerate(line)]
        for row, line in enumerate(wanted)
    ]
    made = pictures.grid(wanted, got, rows="query", columns="key")
    assert (made["first_row"], made["first_column"]) == (76, 68)
    assert (made["wanted"][4][2], made["got"][4][2]) == ("1", "0")


def test_of_many_outcomes_the_ones_that_differ_most_are_kept():
    law = dict.fromkeys(range(100), 0.01)
    made = pictures.distribution(law, law | {50: 0.5}, draws=100)
    assert made["left_out"] == 76
    assert ("50", 0.5) in made["got"]
