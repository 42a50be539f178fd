"""Comparing an answer with what the statement asks, in words a candidate can use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.suite.calls import Broke
from harness.suite.candidate import Reply
from harness.suite.script import show


def equal(
    got: Any,
    wanted: Any,
    *,
    what: str = "",
    at: Any = None,
    also: Any = (),
    picture: Callable[[], dict[str, Any]] | None = None,
) -> None:
    """Break unless `got` is `wanted`; a list and a tuple of the same items are one answer.

    A reply stands for its value, and shows where it broke. `picture` is asked for what a report
    may draw, only when it breaks.
    """
    got, at = _value(got), _place(got, at)
    wanted = _value(wanted)
    if plain(got) != plain(wanted):
        name = f"{what}: " if what else ""
        drawn = picture() if picture is not None else None
        raise Broke(f"{name}{show(wanted)}", f"{show(got)}", at=at, also=also, picture=drawn)


def plain(value: Any) -> Any:
    """A value with tuples as lists and every number with its kind, so that True is not 1."""
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return frozenset(map(plain, value))
    return (type(value) is bool, value) if isinstance(value, (bool, int)) else value


def holds(
    condition: bool,
    wanted: str,
    got: str,
    *,
    at: Any = None,
    also: Any = (),
    picture: Callable[[], dict[str, Any]] | None = None,
) -> None:
    """Break with these words unless the condition holds; `picture` as for `equal`."""
    if not condition:
        drawn = picture() if picture is not None else None
        raise Broke(wanted, got, at=at, also=also, picture=drawn)


def refused(reply: Reply, *errors: str, wanted: str = "") -> None:
    """Break unless the call raised one of these errors, or a subclass."""
    if reply.raised(*errors):
        return
    names = " or ".join(errors)
    if reply.asked.error is not None:
        got = f"{reply.asked.error.type}: {reply.asked.error.message}"
    else:
        got = f"no error; it returned {show(reply.asked.value)}" if reply.ok else "no answer"
    raise Broke(wanted or names, got, at=reply)


def whole_numbers(value: Any, what: str, *, at: Any = None) -> list[int]:
    """A list or tuple of whole numbers, or a reply of one, as a list; anything else breaks."""
    value, at = _value(value), _place(value, at)
    if isinstance(value, (list, tuple)) and all(type(item) is int for item in value):
        return list(value)
    raise Broke(f"a list of {what}", show(value), at=at)


def _value(value: Any) -> Any:
    return value.value if isinstance(value, Reply) else value


def _place(value: Any, at: Any) -> Any:
    """Where an answer is shown: at the reply itself, unless another is named."""
    return value if at is None and isinstance(value, Reply) else at
