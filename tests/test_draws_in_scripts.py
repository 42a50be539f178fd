"""Many draws in a script are counted; a few are written out."""

import pytest

from harness.suite.calls import Call
from harness.suite.script import script

torch = pytest.importorskip("torch")


def answer(value) -> str:
    call = Call(1, "call", None, "sample", (4,))
    call.value = value
    [line] = script([call])
    return line


def test_many_draws_are_counted_the_commonest_first():
    drawn = torch.tensor([2] * 300 + [0] * 699 + [1])

    assert answer(drawn) == "sample(4)  # -> 1,000 rows: 0 699 times, 2 300 times, 1 once"


def test_rows_are_counted_whole_and_the_rest_summed_up():
    rows = torch.arange(300).clamp(max=5).unsqueeze(1).repeat(1, 2)

    assert answer((rows, torch.tensor([7]))) == (
        "sample(4)  # -> (300 rows: (5, 5) 295 times, (0, 0) once, (1, 1) once, (2, 2) once "
        "and 2 others, torch.tensor([7]))"
    )


def test_a_few_draws_are_written_out():
    assert answer(torch.tensor([2, 0])) == "sample(4)  # -> torch.tensor([2, 0])"
