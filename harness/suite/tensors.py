"""Tensors that a script can show: made from an expression a reader can paste."""

from __future__ import annotations

import math
from typing import Any


def made(source: str) -> Any:
    """The tensor that `source` builds, shown in scripts by that very expression.

    `made("torch.linspace(-200, 200, 64).reshape(1, 1, 8, 8)")`. Names: torch, math, inf, nan. A
    random one carries its seed: `torch.randn(2, 3, generator=torch.Generator().manual_seed(5))`.
    """
    import torch

    tensor = eval(source, {"torch": torch, "math": math, "inf": math.inf, "nan": math.nan})
    tensor.source = source
    return tensor
