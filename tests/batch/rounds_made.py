"""Small rounds, of results made by hand, for tests of everything that shows a round."""

from __future__ import annotations

from pathlib import Path

import msgspec

from harness.batch.store import Store, Stored
from harness.results import Check
from tests.results_made import broke, held, not_assessed, result_of

NAMES = ("zoe", "ada", "bob", "<script>alert(1)</script>", "=1+1", "two\nlines\u202e", "i" * 120)


def graded(name: str, *checks: Check, slug: str = "counter", **more: str) -> Stored:
    """One result of a round."""
    path = f"/take-homes/{name}/{slug}.py"
    result = result_of(*checks, path=path, **more)
    problem = msgspec.structs.replace(result.problem, slug=slug, title=slug.title())
    return Stored("key", name, path, msgspec.structs.replace(result, problem=problem))


def checks_of(place: int) -> list[Check]:
    """Three checks, of which another one breaks for the next candidate."""
    invariant = held("one-holds", "invariant")
    if place % 3 == 1:
        invariant = broke("one-holds", "invariant")
    adds = broke("it-adds") if place % 2 else held("it-adds")
    return [adds, invariant, not_assessed() if place % 4 == 3 else held("it-is-fast", "cost")]


def small_round(names: tuple[str, ...] = NAMES) -> list[Stored]:
    """Every candidate on two problems, the last one on one."""
    made = [graded(name, *checks_of(place)) for place, name in enumerate(names)]
    more = [
        graded(name, *checks_of(place + 1), slug="second") for place, name in enumerate(names[:-1])
    ]
    return sorted([*made, *more], key=lambda one: (one.candidate, one.result.problem.slug))


def kept(folder: Path, stored: list[Stored]) -> Store:
    """A folder of results that holds these."""
    store = Store(folder)
    store.results.mkdir(parents=True, exist_ok=True)
    for one in stored:
        store.put(one)
    return store
