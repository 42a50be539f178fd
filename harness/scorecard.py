"""From checks to a level: the lowest cap that applies, each with its reason, never a sum."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from harness.results import BROKE, HELD, NOT_ASSESSED, Check


class Level(IntEnum):
    """A panel's recommendation for one round, lowest first."""

    STRONG_NO_HIRE = 0
    NO_HIRE = 1
    HIRE = 2
    STRONG_HIRE = 3

    @property
    def words(self) -> str:
        return self.name.replace("_", " ").capitalize()


NO_SIGNAL = "No signal"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A level in words and the reasons that hold it down."""

    level: str
    reasons: list[str]


def judge(checks: list[Check], could_not_grade: str = "") -> Verdict:
    """The verdict on one submission.

    `could_not_grade`, or nothing assessed at all, is no signal: never a mark, never a pass.
    """
    if could_not_grade:
        return Verdict(NO_SIGNAL, [could_not_grade])
    if all(check.status == NOT_ASSESSED for check in checks):
        return Verdict(NO_SIGNAL, ["nothing was assessed"])
    caps = [cap for cap in (*_broken_caps(checks), *_other_caps(checks)) if cap is not None]
    level = min((cap for cap, _ in caps), default=Level.STRONG_HIRE)
    lowest_first = sorted(caps, key=lambda cap: cap[0])
    return Verdict(level.words, [reason for _, reason in lowest_first])


Cap = tuple[Level, str] | None


def _broken_caps(checks: list[Check]) -> list[Cap]:
    invariants = _ids(checks, "invariant", BROKE)
    behaviours = _ids(checks, "behaviour", BROKE)
    all_behaviours = [c for c in checks if c.kind == "behaviour" and c.status != NOT_ASSESSED]
    caps: list[Cap] = []
    if len(invariants) >= 2:
        caps.append(
            (Level.STRONG_NO_HIRE, f"{len(invariants)} core invariants broke: " + _some(invariants))
        )
    elif invariants:
        caps.append((Level.NO_HIRE, f"{invariants[0]} is a core invariant"))
    if behaviours and len(behaviours) == len(all_behaviours):
        caps.append((Level.STRONG_NO_HIRE, "nothing that was asked for works"))
    elif behaviours:
        words = "is a behaviour that was asked for"
        caps.append(
            (
                Level.NO_HIRE,
                f"{behaviours[0]} {words}"
                if len(behaviours) == 1
                else f"{len(behaviours)} behaviours that were asked for broke: "
                + _some(behaviours),
            )
        )
    return caps


def _other_caps(checks: list[Check]) -> list[Cap]:
    caps: list[Cap] = []
    edges = _ids(checks, "edge", BROKE)
    assessed_edges = edges + _ids(checks, "edge", HELD)
    costs = _ids(checks, "cost", BROKE)
    missing = [check for check in checks if check.status == NOT_ASSESSED]
    if len(edges) * 2 > len(assessed_edges):
        caps.append((Level.NO_HIRE, f"{len(edges)} of {len(assessed_edges)} edge cases broke"))
    elif edges:
        caps.append(
            (
                Level.HIRE,
                f"{_some(edges)} {'is an edge case' if len(edges) == 1 else 'are edge cases'}",
            )
        )
    if costs:
        caps.append((Level.HIRE, f"{_some(costs)}: the work grows where it should not"))
    if missing:
        caps.append(
            (
                Level.HIRE,
                f"part of the round was not assessed ({len(missing)} of {len(checks)} checks)",
            )
        )
    return caps


def _ids(checks: list[Check], kind: str, status: str) -> list[str]:
    return [check.id for check in checks if check.kind == kind and check.status == status]


def _some(ids: list[str], most: int = 3) -> str:
    more = f" and {len(ids) - most} more" if len(ids) > most else ""
    return ", ".join(ids[:most]) + more
