"""How much a run may spend: examples, seconds, and what a hang may cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """`examples` a check, `run_s` for the whole suite, `shrink_s` for one check after it broke."""

    name: str
    examples: int
    run_s: float
    shrink_s: float
    shrink: bool = True


QUICK = Budget("quick", examples=60, run_s=60.0, shrink_s=6.0)
FULL = Budget("full", examples=600, run_s=900.0, shrink_s=60.0)
BUDGETS = {budget.name: budget for budget in (QUICK, FULL)}

HANGS_A_CHECK = 5  # each costs its limit, so a hang shrinks only this far
HANG_LIMIT_S = 1.0  # the limit for calls after the first hang of a check
REPLAY_LIMIT_S = 30.0  # no call of a replay starts later
