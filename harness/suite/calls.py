"""The record of a candidate's calls in one example: what was asked and what came back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.border.messages import Where
from harness.remote.faults import CandidateFault, Fault, Kind

PENDING = object()


@dataclass(slots=True, eq=False)
class Call:
    """One call, and its outcome once it is known: a value, an exception, or a fault."""

    id: int
    op: str  # "call", "read", "generator", "seed", "settle"
    target: Call | None  # None: a function or class of the module
    name: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    probe: bool = False  # looked at for the check's sake; left out of scripts unless it shows
    may_raise: bool = False  # an attempt: what it raises is for the check to judge
    value: Any = PENDING
    error: Where | None = None
    fault: Fault | None = None
    skipped: bool = False
    observed: dict[str, Any] = field(default_factory=dict)
    changed_arguments: bool = False

    def failed(self) -> Call | None:
        """The call that raised: this one, or the one for want of which it was skipped."""
        if self.error is not None:
            return self
        if not self.skipped:
            return None
        values = (getattr(value, "asked", None) for value in (*self.args, *self.kwargs.values()))
        needed = [call for call in (self.target, *values) if isinstance(call, Call)]
        return next((one for call in needed if (one := call.failed())), None)


@dataclass(slots=True)
class Record:
    """The calls of one example, in the order they were made."""

    calls: list[Call] = field(default_factory=list)

    def add(self, call: Call) -> Call:
        self.calls.append(call)
        return call

    def up_to(self, shown: list[Call]) -> list[Call]:
        """The calls a reader needs: all that act, up to the last shown one, and those shown."""
        if not self.calls:
            return []
        last = max((self.calls.index(call) for call in shown), default=len(self.calls) - 1)
        kept = [c for c in self.calls[: last + 1] if not c.probe or c in shown]
        return _without_unused(kept, shown)


def _without_unused(calls: list[Call], shown: list[Call]) -> list[Call]:
    """Objects that are made and never used again tell nothing."""
    used = {id(c.target) for c in calls} | {id(c) for c in shown}
    for call in calls:
        for value in (*call.args, *call.kwargs.values()):
            used.add(id(getattr(value, "asked", value)))
    made = [c for c in calls if c.op == "generator"]
    return [c for c in calls if c not in made or id(c) in used]


class Raised(CandidateFault):
    """A call raised where the suite wanted an answer."""

    def __init__(self, call: Call, error: Where) -> None:
        super().__init__(Fault(Kind.RAISED, in_words(error), error=error))
        self.call = call


class Broke(AssertionError):
    """What the statement asks does not hold: wanted and got, in the candidate's units.

    `at` is the reply that shows it (the last call when left out), `also` others worth showing.
    `picture` is plain data a report may draw. `sketch` stands in for the script where the calls
    are too many to paste (the cost of ten thousand of them); it is not run again.
    """

    def __init__(
        self,
        wanted: str,
        got: str,
        *,
        at: Any = None,
        also: Any = (),
        picture: dict[str, Any] | None = None,
        sketch: list[str] | None = None,
    ) -> None:
        super().__init__(f"wanted {wanted}, got {got}")
        self.wanted = wanted
        self.got = got
        self.picture = picture
        self.sketch = sketch
        shown = [at, *also] if at is not None else list(also)
        self.shown: list[Call] = [getattr(reply, "asked", reply) for reply in shown]


def in_words(error: Where) -> str:
    """An exception as one phrase; its line stands beside it in a finding."""
    return f"{error.type}: {error.message}" if error.message else error.type
