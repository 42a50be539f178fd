"""The statistics of suites: no false alarm on the references, and no promised bias missed."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from harness.suite.calls import Broke
from harness.suite.statistics import (
    ALARM,
    COMPARISONS_A_CHECK,
    expect_draws,
    largest_deviation,
    share,
    smallest_bias,
    tally,
)

torch = pytest.importorskip("torch")
SOLUTIONS = Path(__file__).parent.parent / "solutions"


def reference(slug: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(slug, SOLUTIONS / slug / "reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def alarms(runs: list, law: dict, alarm: float) -> int:
    return sum(largest_deviation(tally(run), law, alarm=alarm) is not None for run in runs)


def test_a_check_raises_a_false_alarm_once_in_a_billion():
    assert ALARM * COMPARISONS_A_CHECK <= 1e-9


def test_a_thousand_runs_of_the_verifier_are_taken_for_chance():
    draft = torch.tensor([[0.5, 0.25, 0.25]]).expand(512, 1, 3)
    target = torch.tensor([[0.25, 0.5, 0.25], [0.0, 0.125, 0.875]]).expand(512, 2, 3)
    proposed = torch.tensor([[0]]).expand(512, 1)
    law = {(0, 1): 0.5 * 0.125, (0, 2): 0.5 * 0.875, (1, -1): 0.5}
    verify = reference("speculative_verifier").verify

    generator = torch.Generator().manual_seed(0)
    runs = [verify(proposed, draft, target, generator)[0] for _ in range(1000)]

    assert alarms(runs, law, ALARM) == 0
    assert alarms(runs, law, 0.05) <= 50


def test_a_thousand_runs_of_the_sampler_are_taken_for_chance():
    logits = torch.tensor([[0.1, 0.4, 0.1, 0.4]]).log().expand(512, 4)
    sample = reference("top_p_sampling").sample

    generator = torch.Generator().manual_seed(0)
    runs = [sample(logits, p=0.85, generator=generator) for _ in range(1000)]
    law = {0: 0.1, 1: 0.4, 2: 0.1, 3: 0.4}

    assert alarms(runs, law, ALARM) == 0
    assert alarms(runs, law, 0.05) <= 50


@pytest.mark.parametrize("probability", [0.5, 0.1, 0.001])
@pytest.mark.parametrize("side", [1, -1])
def test_the_smallest_bias_is_found_in_999_of_1000_runs(probability, side):
    draws = 131_072
    bias = smallest_bias(probability, draws=draws, outcomes=2)
    true = min(max(probability + side * bias, 0.0), 1.0)
    counts = torch.binomial(
        torch.full((1000,), float(draws), dtype=torch.float64),
        torch.full((1000,), true, dtype=torch.float64),
        generator=torch.Generator().manual_seed(1),
    )

    law = {0: probability, 1: 1 - probability}
    found = sum(
        largest_deviation({0: int(k), 1: draws - int(k)}, law) is not None for k in counts.tolist()
    )

    assert found >= 999


def test_the_smallest_bias_of_131_072_draws():
    found = [smallest_bias(p, draws=131_072, outcomes=4) for p in (0.5, 0.25, 0.01)]

    assert [round(bias, 4) for bias in found] == [0.0162, 0.0141, 0.0034]


def test_an_outcome_without_probability_may_not_be_drawn_once():
    found = largest_deviation({0: 99_999, 7: 1}, {0: 1.0})

    assert found is not None
    assert (found.outcome, str(found)) == (7, "once in 100,000")


def test_no_draws_are_no_evidence():
    assert largest_deviation({}, {0: 0.5, 1: 0.5}) is None


def test_a_finding_says_what_was_wanted_and_what_was_got():
    with pytest.raises(Broke) as raised:
        expect_draws({0: 60_000, 1: 40_000}, {0: 0.5, 1: 0.3, 3: 0.2}, where=" after token 1")

    wanted = "token 3 with probability 0.20 after token 1 (0: 0.50, 1: 0.30, 3: 0.20)"
    got = "token 3 drawn 0 times in 100,000 after token 1 (0: 0.60, 1: 0.40, 3: 0)"
    assert (raised.value.wanted, raised.value.got) == (wanted, got)


def test_a_long_law_is_not_written_out():
    with pytest.raises(Broke) as raised:
        expect_draws({0: 1000}, dict.fromkeys(range(64), 1 / 64))

    assert raised.value.wanted == "token 0 with probability 0.0156"


def test_rows_are_tallied_as_tuples():
    assert tally(torch.tensor([3, 5, 3])) == {3: 2, 5: 1}
    assert tally(torch.tensor([[1, -1], [0, 2], [1, -1]])) == {(0, 2): 1, (1, -1): 2}
    assert tally(torch.tensor([[0, 2**62, -(2**62)]])) == {(0, 2**62, -(2**62)): 1}
    assert len(tally(torch.tensor([[2**63 - 1, 0], [-(2**63), 0], [-1, 0]]))) == 3
    assert tally(torch.zeros(0, 2, dtype=torch.int64)) == {}


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        (0, "0"),
        (1, "1"),
        (0.2, "0.20"),
        (1 / 3, "0.3333"),
        (2**-12, "0.00024"),
        (0.9999, "1 - 0.0001"),
    ],
)
def test_a_probability_is_never_rounded_to_0_or_1(probability, text):
    assert share(probability) == text
