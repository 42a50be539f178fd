"""A tensor in a script is the tensor it was when the script is pasted."""

import pytest
import torch

from harness.suite.script import show


@pytest.mark.parametrize(
    "source",
    [
        "torch.tensor([1.0, -0.0, 0.5])",
        "torch.tensor([0.100000001, 1.00000002e+30])",
        "torch.tensor([0.1, 0.3333333333333333, 1e+300], dtype=torch.float64)",
        "torch.tensor([2.0, -0.0], dtype=torch.bfloat16)",
        "torch.tensor([[1.0, 2.0], [3.0, 4.0]]).t()",
        "torch.tensor([1, 0])",
        "torch.tensor(3.0)",
    ],
)
def test_a_tensor_is_shown_as_what_builds_it_again(source):
    tensor = eval(source, {"torch": torch})
    assert show(tensor) == source
