"""From checks to a level: what must hold of every scorecard."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from harness.results import BROKE, HELD, KINDS, NOT_ASSESSED, Check
from harness.scorecard import NO_SIGNAL, Level, judge

LEVELS = {level.words: level for level in Level}


def check(kind: str, status: str, number: int = 0) -> Check:
    return Check(
        id=f"{kind}-{number}",
        kind=kind,
        requirement="R1",
        claim="it holds",
        why="w",
        ask="a",
        status=status,
    )


@st.composite
def cards(draw: st.DrawFn) -> list[Check]:
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=12))
    statuses = st.sampled_from([HELD, BROKE, NOT_ASSESSED])
    return [check(kind, draw(statuses), number) for number, kind in enumerate(kinds)]


def level(checks: list[Check]) -> Level | None:
    return LEVELS.get(judge(checks).level)


@given(cards(), st.integers(0, 11))
def test_repairing_a_check_never_lowers_a_level(checks: list[Check], which: int) -> None:
    which %= len(checks)
    if checks[which].status != BROKE:
        return
    repaired = [*checks]
    repaired[which] = msgspec.structs.replace(checks[which], status=HELD)
    before, after = level(checks), level(repaired)
    assert before is not None and after is not None
    assert after >= before


@given(cards(), st.randoms())
def test_order_does_not_matter(checks: list[Check], random: object) -> None:
    shuffled = [*checks]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert level(shuffled) == level(checks)


@given(cards())
def test_a_broken_invariant_or_behaviour_is_never_hire(checks: list[Check]) -> None:
    if any(c.status == BROKE and c.kind in ("invariant", "behaviour") for c in checks):
        assert level(checks) in (Level.NO_HIRE, Level.STRONG_NO_HIRE)


@given(cards())
def test_every_level_below_the_best_has_a_reason(checks: list[Check]) -> None:
    verdict = judge(checks)
    assert verdict.level == "Strong hire" or verdict.reasons


@given(cards())
def test_what_was_not_assessed_is_never_a_pass(checks: list[Check]) -> None:
    if any(c.status == NOT_ASSESSED for c in checks):
        assert level(checks) is not Level.STRONG_HIRE


def test_nothing_assessed_is_no_signal() -> None:
    verdict = judge([check("edge", NOT_ASSESSED)])
    assert (verdict.level, verdict.reasons) == (NO_SIGNAL, ["nothing was assessed"])


def test_a_failure_of_ours_is_no_signal() -> None:
    verdict = judge([check("edge", HELD)], "the image is missing")
    assert (verdict.level, verdict.reasons) == (NO_SIGNAL, ["the image is missing"])


def test_two_invariants_are_a_strong_no_hire() -> None:
    verdict = judge([check("invariant", BROKE, 1), check("invariant", BROKE, 2)])
    assert verdict.level == "Strong no hire"
    assert verdict.reasons == ["2 core invariants broke: invariant-1, invariant-2"]
