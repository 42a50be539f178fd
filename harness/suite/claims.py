"""What a suite says of each check: its kind, its requirement, why it matters, what is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

ATTRIBUTE = "harness_claim"
Check = TypeVar("Check", bound=Callable[..., object])


class Kind(Enum):
    """How much a broken check weighs."""

    INVARIANT = "invariant"  # must hold after every call
    BEHAVIOUR = "behaviour"  # what was asked
    EDGE = "edge"  # legal but unkind
    COST = "cost"  # how work grows


@dataclass(frozen=True, slots=True)
class Claim:
    """One check as a reader meets it. `examples` scales the budget's number of examples."""

    id: str
    kind: Kind
    requirement: str
    text: str
    why: str
    ask: str
    examples: float
    arguments: bool
    device: str


def _kind(kind: Kind) -> Callable[..., Callable[[Check], Check]]:
    def declare(
        requirement: str,
        *,
        why: str,
        ask: str,
        examples: float = 1.0,
        arguments: bool = False,
        device: str = "",
    ) -> Callable[[Check], Check]:
        def decorate(check: Check) -> Check:
            claim = Claim(
                id=identify(check.__name__),
                kind=kind,
                requirement=requirement,
                text=" ".join((check.__doc__ or "").split()),
                why=why,
                ask=ask,
                examples=examples,
                arguments=arguments,
                device=device,
            )
            setattr(check, ATTRIBUTE, claim)
            return check

        return decorate

    declare.__name__ = kind.value
    declare.__doc__ = f"""Declare a check of kind {kind.value}, for a requirement of the statement.

    `examples` scales the number of examples the budget allows. `arguments=True` makes it the check
    that arguments are left as they were: it also answers for changes seen during other checks.
    `device` names the only device on which the check can be assessed ("" any).
    """
    return declare


def identify(function_name: str) -> str:
    """A check's id: its function's name without `test_`, with dashes."""
    return function_name.removeprefix("test_").replace("_", "-")


invariant = _kind(Kind.INVARIANT)
behaviour = _kind(Kind.BEHAVIOUR)
edge = _kind(Kind.EDGE)
cost = _kind(Kind.COST)
