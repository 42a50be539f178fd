"""The checks of a result as people count and order them."""

from __future__ import annotations

from harness.results import BROKE, HELD, KINDS, NOT_ASSESSED, Check, Result


def counts(result: Result) -> str:
    """How many checks held, broke and were not assessed."""
    numbers = [
        f"{count} {status}"
        for status in (HELD, BROKE, NOT_ASSESSED)
        if (count := sum(check.status == status for check in result.checks))
    ]
    return ", ".join(numbers) or "nothing ran"


def heaviest_first(result: Result) -> list[Check]:
    """The broken checks, by how much they weigh."""
    broken = [check for check in result.checks if check.status == BROKE]
    return sorted(broken, key=lambda check: KINDS.index(check.kind))
