"""What is watched during a call, in the candidate's own process: advice, never evidence of a pass.

Observers see which operations torch ran and what a Triton kernel touched. Code that means to can
switch them off; the values that cross are judged all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

Watched = AbstractContextManager[dict[str, Any]]


class Observers:
    """The observers a suite asked for, by name."""

    def __init__(self, names: list[str]) -> None:
        self._names = frozenset(names)
        self.not_checked: dict[str, str] = {}  # which checks do not work here, and why
        if "triton" in self._names:
            from harness.worker.triton_watch import probe

            self.not_checked = probe()

    def watch(self, op: str, args: list[Any], kwargs: dict[str, Any]) -> Watched:
        """Observe one step; the dict it gives is filled when it ends. Only calls are observed."""
        if op != "call" or "triton" not in self._names:
            return nullcontext({})
        return _watched_kernels(args, kwargs)


@contextmanager
def _watched_kernels(args: list[Any], kwargs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    from harness.worker.triton_watch import watch

    observed: dict[str, Any] = {}
    with watch(args, kwargs) as report:
        yield observed
    observed.update(report.facts())
