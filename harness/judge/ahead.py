"""Examples drawn before there is a submission: a round or a watch draws them once, not every time.

A check that holds runs on the very examples that Hypothesis draws when nothing breaks, so these are
drawn with checks that do nothing, and every judge forked afterwards has copies of its own. What
breaks is run again by Hypothesis itself: a finding is as if nothing had been drawn ahead.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import gc
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
import pytest

from harness.judge.apart import kept_to_the_seed
from harness.judge.examples import Drawn, run_examples
from harness.judge.run import Options, pytest_arguments
from harness.problems import Problem
from harness.suite.claims import ATTRIBUTE

MOST_MIB = 512  # of memory, for the examples of one problem; the checks left draw their own


@dataclass(slots=True)
class Ahead:
    """The examples of a suite by check. Good for one run: a check may change what it is given."""

    _drawn: dict[str, Drawn] = field(default_factory=dict)

    def take(self) -> dict[str, Drawn]:
        """The examples, once; nothing after that."""
        drawn, self._drawn = self._drawn, {}
        return drawn

    def again(self) -> Ahead:
        """The same examples for one more run of this process."""
        return Ahead(copy.deepcopy(self._drawn))


def draw_ahead(problem: Problem, options: Options) -> Ahead:
    """Import the suite and draw its examples; nothing of a candidate's is run or needed.

    The suite stays imported: the examples are made of its classes.
    """
    drawing = _Drawing(options)
    with kept_to_the_seed(), one_thread():
        code = pytest.main(pytest_arguments(problem), plugins=[drawing])
    if code == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    gc.collect()
    gc.freeze()  # whoever is forked later shares these pages as long as nobody writes to them
    return Ahead(drawing.drawn)


class _Drawing:
    """Draws while pytest collects, and leaves nothing to run."""

    def __init__(self, options: Options) -> None:
        self.drawn: dict[str, Drawn] = {}
        self._options = options
        self._limit = _peak_mib() + MOST_MIB

    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        for item in items:
            claim = getattr(item.obj, ATTRIBUTE, None)
            if claim and hasattr(item.obj, "hypothesis") and _peak_mib() < self._limit:
                run_examples(item.obj, claim, self._options.budget, self._options.seed)
                drawn = examples_of(item.obj)
                if drawn is not None:
                    self.drawn[claim.id] = drawn
        items.clear()


def examples_of(check: Any) -> Drawn | None:
    """The arguments of every example; None where they cannot be told before a check runs."""
    inner = check.hypothesis.inner_test
    drawn: Drawn = []

    @functools.wraps(inner)
    def keep(*args: Any, **kwargs: Any) -> None:
        drawn.append((args, kwargs))

    check.hypothesis.inner_test = keep
    try:
        check(candidate=None)
    except Exception:  # noqa: BLE001 - whatever it is, the judge meets and names it
        return None
    finally:
        check.hypothesis.inner_test = inner
    asks_later = any(
        isinstance(value, st.DataObject)
        for args, kwargs in drawn
        for value in (*args, *kwargs.values())
    )
    return None if asks_later else drawn


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Nothing is forked from a process that torch has threads in: they would be waited for."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    usual = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


def _peak_mib() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit // 2**20
