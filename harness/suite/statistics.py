"""Counts of random draws against the law they should follow, with a proven bound on false alarms.

Of n independent draws whose chances average p, a share f or more beyond p comes with a chance of
at most exp(-n KL(f, p)) (Chernoff 1952; Hoeffding 1963 for chances that differ). `expect_draws`
gives every outcome, on either side, an equal part of ALARM. A check makes at most
COMPARISONS_A_CHECK of them, so it raises a false alarm with a chance of at most 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from harness.suite.calls import Broke
from harness.suite.pictures import distribution

COMPARISONS_A_CHECK = 10_000
ALARM = 1e-9 / COMPARISONS_A_CHECK  # of one comparison, all its outcomes together
MISS = 1e-3  # the chance that a bias of `smallest_bias` goes unseen
SHOWN = 6  # outcomes written out in a finding
NEAR = 8  # of a count to its mean

Outcome = TypeVar("Outcome", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Deviation:
    """An outcome that was drawn too often or too rarely for chance."""

    outcome: Any
    drawn: int
    draws: int
    probability: float

    def __str__(self) -> str:
        return f"{times(self.drawn)} in {self.draws:,}"


def tally(drawn: Any) -> dict[Any, int]:
    """How often each value of an integer tensor occurs; rows of a matrix count as tuples."""
    if drawn.ndim == 1 or not drawn.numel():
        values, counts = drawn.reshape(-1).unique(return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))
    drawn = drawn.long()
    lowest = drawn.amin(0).tolist()
    spans = [high - low + 1 for high, low in zip(drawn.amax(0).tolist(), lowest, strict=True)]
    if math.prod(spans) >= 2**62:
        values, counts = drawn.unique(dim=0, return_counts=True)
        return dict(zip(map(tuple, values.tolist()), counts.tolist(), strict=True))
    codes: Any = 0  # a row as one number sorts 20 times faster than the row
    for column, span, low in reversed(list(zip(drawn.unbind(1), spans, lowest, strict=True))):
        codes = codes * span + column - low
    values, counts = codes.unique(return_counts=True)
    rows = [tuple(_digits(value, spans, lowest)) for value in values.tolist()]
    return dict(zip(rows, counts.tolist(), strict=True))


def _digits(code: int, spans: list[int], lowest: list[int]) -> Iterator[int]:
    for span, low in zip(spans, lowest, strict=True):
        code, digit = divmod(code, span)
        yield digit + low


def largest_deviation(
    drawn: Mapping[Outcome, int], law: Mapping[Outcome, float], *, alarm: float = ALARM
) -> Deviation | None:
    """The outcome least likely to come out as it did, if chance can't be the reason.

    An outcome that `law` leaves out has probability 0, so one draw of it is a deviation.
    """
    draws = sum(drawn.values())
    outcomes = list(law) + [outcome for outcome in drawn if outcome not in law]
    limit = surprise_limit(len(outcomes), alarm=alarm)
    found = []
    for outcome in outcomes if draws else []:
        count, probability = drawn.get(outcome, 0), law.get(outcome, 0.0)
        surprise = draws * divergence(count / draws, probability)
        if surprise > limit:
            found.append((-surprise, probability, Deviation(outcome, count, draws, probability)))
    return min(found, key=lambda item: item[:2])[2] if found else None


def expect_draws(
    drawn: Mapping[Outcome, int],
    law: Mapping[Outcome, float],
    *,
    at: Any = None,
    also: Any = (),
    outcome: str = "token {}",
    drawn_as: str = " drawn",
    where: str = "",
    alarm: float = ALARM,
) -> None:
    """Raise `Broke`, with the law wanted and got, when the draws can't have come from `law`.

    `outcome` words one outcome, `drawn_as` joins it to its count (":" where nothing is drawn),
    and `where` follows both (" after token 1").
    """
    found = largest_deviation(drawn, law, alarm=alarm)
    if found is None:
        return
    draws = sum(drawn.values())
    got = {key: drawn.get(key, 0) / draws for key in {**law, **drawn}}
    named = outcome.format(found.outcome)
    raise Broke(
        f"{named} with probability {share(found.probability)}{where}{_written(law)}",
        f"{named}{drawn_as} {found}{where}{_written(got)}",
        at=at,
        also=also,
        picture=distribution(law, got, draws=draws),
    )


def expect_scatter(heads: Sequence[int], tosses: int, *, where: str = "", at: Any = None) -> None:
    """Raise `Broke` when counts of a fair coin lie nearer to their mean, or farther, than chance.

    Each of `heads` counts the heads in `tosses` that should be independent. Tosses that make up for
    each other have the right mean and no scatter. The law of a count is the binomial one, exactly.
    """
    mean = tosses // 2
    near, far = f"within {NEAR} of {mean:,}", "farther off"
    chance = sum(math.comb(tosses, mean + off) for off in range(-NEAR, NEAR + 1)) / 2**tosses
    within = sum(abs(count - mean) <= NEAR for count in heads)
    expect_draws(
        {near: within, far: len(heads) - within},
        {near: chance, far: 1 - chance},
        outcome="counts {}",
        drawn_as=":",
        where=where,
        at=at,
    )


def _written(law: Mapping[Outcome, float]) -> str:
    if not 2 <= len(law) <= SHOWN:
        return ""
    listed = sorted(law.items(), key=lambda item: str(item[0]))
    return " (" + ", ".join(f"{key}: {share(value)}" for key, value in listed) + ")"


def times(count: int) -> str:
    """A count of draws in words."""
    return "once" if count == 1 else f"{count:,} times"


def share(probability: float) -> str:
    """A probability with as many digits as tell it from 0 and 1."""
    if probability in (0.0, 1.0):
        return f"{probability:.0f}"
    if min(probability, 1 - probability) < 1e-3:
        near = f"{min(probability, 1 - probability):.2g}"
        return near if probability < 0.5 else f"1 - {near}"
    return f"{probability:.4f}".rstrip("0").ljust(4, "0")


def surprise_limit(outcomes: int, *, alarm: float = ALARM) -> float:
    """What n KL must exceed: two sides of every outcome share the alarm."""
    return math.log(2 * max(outcomes, 1) / alarm)


def divergence(f: float, p: float) -> float:
    """KL(f, p) of two coins in nats; infinite where p rules out what f shows."""
    return _part(f, p) + _part(1 - f, 1 - p)


def _part(f: float, p: float) -> float:
    if f <= 0:
        return 0.0
    return f * math.log(f / p) if p > 0 else math.inf


def smallest_bias(
    probability: float, *, draws: int, outcomes: int, alarm: float = ALARM, miss: float = MISS
) -> float:
    """The least error of one outcome's probability, either way, that is found but for `miss`.

    Both steps are the same bound as above, so the figure is a promise and no estimate.
    """
    limit = surprise_limit(outcomes, alarm=alarm) / draws
    unseen = math.log(1 / miss) / draws
    above = _farther(_farther(probability, limit, 1.0), unseen, 1.0, seen_from_there=True)
    below = _farther(_farther(probability, limit, 0.0), unseen, 0.0, seen_from_there=True)
    return max(above - probability, probability - below)


def _farther(start: float, distance: float, end: float, *, seen_from_there: bool = False) -> float:
    """The point between start and end that is `distance` away, or the end."""
    near, far = start, end
    for _ in range(60):
        middle = (near + far) / 2
        apart = divergence(start, middle) if seen_from_there else divergence(middle, start)
        near, far = (middle, far) if apart < distance else (near, middle)
    return far
