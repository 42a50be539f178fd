"""Pictures of a finding as plain data: what a suite may show where one tells more than words.

A builder makes the dict that `Broke(picture=...)` takes; a report draws it. Each kind is a class
here, its fields are the schema, and its builder keeps to the limits: what is too much to look at
is left out. A report leaves out a picture that does not fit its class.

    block_pool     the pool and its tables as they stand at the broken call
    timeline       what each request did at each step
    distribution   probabilities wanted, shares drawn
    errors         how far off each position is, and what was allowed
    grid           who may look at whom: a mask wanted and got
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from harness.suite.printable import printable

MOST_BLOCKS = 64
MOST_SEQUENCES = 12
MOST_STEPS = 48
MOST_OUTCOMES = 24
MOST_POSITIONS = 96
MOST_CELLS = 24  # a side of a grid
MOST_CHARS = 24

Count = Annotated[int, Meta(ge=0, le=2**53)]
Share = Annotated[float, Meta(ge=0, le=1)]
Name = Annotated[str, Meta(max_length=MOST_CHARS)]
Label = Annotated[str, Meta(max_length=80)]


class Block(Struct, frozen=True):
    """A block of the pool: who holds it and how many of its slots have a token."""

    id: Name
    holders: Annotated[list[Name], Meta(max_length=MOST_SEQUENCES)]
    used: Count


class Table(Struct, frozen=True):
    """A sequence, its tokens and its blocks in order."""

    sequence: Name
    tokens: Count
    blocks: Annotated[list[Name], Meta(max_length=MOST_BLOCKS)]


class BlockPool(Struct, frozen=True, tag_field="kind", tag="block pool"):
    """The pool as it stands; `marked` are the blocks that the finding is about."""

    num_blocks: Count
    block_size: Count
    blocks: Annotated[list[Block], Meta(max_length=MOST_BLOCKS)]
    tables: Annotated[list[Table], Meta(max_length=MOST_SEQUENCES)]
    marked: Annotated[list[Name], Meta(max_length=MOST_BLOCKS)] = []


class Cell(Struct, frozen=True):
    """One request at one step: "runs", "waits", "stops" (preempted) or "" (not there)."""

    state: Annotated[str, Meta(pattern="^(runs|waits|stops|)$")]
    text: Annotated[str, Meta(max_length=6)] = ""
    marked: bool = False


class Row(Struct, frozen=True):
    """One request and what it did at each step."""

    name: Name
    cells: Annotated[list[Cell], Meta(max_length=MOST_STEPS)]


class Timeline(Struct, frozen=True, tag_field="kind", tag="timeline"):
    """A schedule; `first_step` is the number of the first column."""

    first_step: Count
    rows: Annotated[list[Row], Meta(max_length=MOST_SEQUENCES)]


class Distribution(Struct, frozen=True, tag_field="kind", tag="distribution"):
    """Outcomes with the probability wanted and the share drawn, and how many draws there were."""

    wanted: Annotated[list[tuple[Name, Share]], Meta(max_length=MOST_OUTCOMES)]
    got: Annotated[list[tuple[Name, Share]], Meta(max_length=MOST_OUTCOMES)]
    draws: Count
    left_out: Count = 0  # outcomes too close to tell apart in a picture


class Errors(Struct, frozen=True, tag_field="kind", tag="errors"):
    """Errors over positions, each the worst of `width`; null where a value is not finite."""

    along: Label  # what a position is: "token", "channel"
    values: Annotated[list[float | None], Meta(min_length=1, max_length=MOST_POSITIONS)]
    allowed: Annotated[list[float], Meta(min_length=1, max_length=MOST_POSITIONS)]
    width: Annotated[int, Meta(ge=1)] = 1


class Grid(Struct, frozen=True, tag_field="kind", tag="grid"):
    """A mask, one string of 0 and 1 a row, from `first_row` and `first_column` on."""

    rows: Label  # what a row is: "query"
    columns: Label
    wanted: Annotated[list[Annotated[str, Meta(pattern="^[01]*$")]], Meta(max_length=MOST_CELLS)]
    got: Annotated[list[Annotated[str, Meta(pattern="^[01]*$")]], Meta(max_length=MOST_CELLS)]
    first_row: Count = 0
    first_column: Count = 0


Picture = BlockPool | Timeline | Distribution | Errors | Grid
Outcome = TypeVar("Outcome", bound=Hashable)


def block_pool(
    tables: Mapping[str, Sequence[int]],
    tokens: Mapping[str, int],
    *,
    num_blocks: int,
    block_size: int,
    marked: Iterable[int] = (),
) -> dict[str, Any]:
    """The pool from the tables and token counts of its sequences, by name."""
    names = list(tables)[:MOST_SEQUENCES]
    noted = sorted(set(marked))
    ids = [*noted, *range(min(num_blocks, MOST_BLOCKS)), *(b for n in names for b in tables[n])]
    shown = sorted(dict.fromkeys(ids[:MOST_BLOCKS]))
    blocks = [
        Block(
            _name(block),
            [_name(name) for name in names if block in tables[name]],
            max((_used(block, tables[n], tokens.get(n, 0), block_size) for n in names), default=0),
        )
        for block in shown
    ]
    rows = [
        Table(_name(n), tokens.get(n, 0), [_name(block) for block in tables[n][:MOST_BLOCKS]])
        for n in names
    ]
    return _plain(
        BlockPool(num_blocks, block_size, blocks, rows, [_name(b) for b in noted[:MOST_BLOCKS]])
    )


def _used(block: int, table: Sequence[int], tokens: int, block_size: int) -> int:
    if block not in table:
        return 0
    return max(0, min(block_size, tokens - table.index(block) * block_size))


def timeline(
    rows: Mapping[str, Sequence[tuple[str, str]]],
    *,
    first_step: int = 1,
    marked: Iterable[tuple[str, int]] = (),
) -> dict[str, Any]:
    """Each request's (state, text) at each step; `marked` are (request, column) pairs.

    The last steps are kept: a schedule breaks at its end.
    """
    length = max((len(cells) for cells in rows.values()), default=0)
    cut = max(0, length - MOST_STEPS)
    noted = set(marked)
    shown = [
        Row(
            _name(name),
            [
                Cell(state, text[:6], (name, column) in noted)
                for column, (state, text) in enumerate(cells)
            ][cut:],
        )
        for name, cells in list(rows.items())[-MOST_SEQUENCES:]
    ]
    return _plain(Timeline(first_step + cut, shown))


def distribution(
    wanted: Mapping[Outcome, float], got: Mapping[Outcome, float], *, draws: int
) -> dict[str, Any]:
    """Probabilities wanted and shares drawn; of many outcomes the ones that differ most."""
    outcomes = list(dict.fromkeys([*wanted, *got]))

    def off(outcome: Outcome) -> float:
        return -abs(wanted.get(outcome, 0.0) - got.get(outcome, 0.0))

    kept = set(sorted(outcomes, key=off)[:MOST_OUTCOMES])
    shown = [outcome for outcome in outcomes if outcome in kept]
    return _plain(
        Distribution(
            [(_name(key), _share(wanted.get(key, 0.0))) for key in shown],
            [(_name(key), _share(got.get(key, 0.0))) for key in shown],
            draws,
            len(outcomes) - len(shown),
        )
    )


def errors(
    values: Sequence[float], allowed: Sequence[float] | float, *, along: str
) -> dict[str, Any]:
    """How far off each position is; of many positions, neighbours share their worst."""
    limits = [allowed] * len(values) if isinstance(allowed, (int, float)) else list(allowed)
    width = max(1, -(-len(values) // MOST_POSITIONS))
    starts = range(0, len(values), width)
    worst = [_worst(values[start : start + width]) for start in starts]
    least = [min(limits[start : start + width]) for start in starts]
    return _plain(Errors(along, worst, least, width))


def _worst(values: Sequence[float]) -> float | None:
    finite = [abs(value) for value in values if math.isfinite(value)]
    return max(finite) if len(finite) == len(values) else None


def grid(
    wanted: Sequence[Sequence[object]],
    got: Sequence[Sequence[object]],
    *,
    rows: str,
    columns: str,
) -> dict[str, Any]:
    """A mask of true and false; of a large one the part around the first difference."""
    different = [
        (row, column)
        for row, (one, other) in enumerate(zip(wanted, got, strict=True))
        for column, (a, b) in enumerate(zip(one, other, strict=True))
        if bool(a) != bool(b)
    ]
    row, column = different[0] if different else (0, 0)
    top = max(0, min(row - 2, len(wanted) - MOST_CELLS))
    left = max(0, min(column - 2, len(wanted[0]) - MOST_CELLS)) if wanted else 0

    def part(mask: Sequence[Sequence[object]]) -> list[str]:
        return [
            "".join("1" if seen else "0" for seen in line[left : left + MOST_CELLS])
            for line in mask[top : top + MOST_CELLS]
        ]

    return _plain(Grid(rows, columns, part(wanted), part(got), top, left))


def _name(value: object) -> str:
    """What a picture calls a thing: short, and safe to write wherever it came from."""
    text = printable(str(value))
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS - 1] + "…"


def _share(value: float) -> float:
    return min(1.0, max(0.0, float(value)))


def _plain(picture: Picture) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(picture)
    return made
