"""How fast Triton answers move memory on this GPU, against a copy of the same number of bytes.

    python -m bench.kernel_rates softmax.py solutions/triton_softmax/timing.py

The file runs in this process: for one's own code only.
"""

import importlib.util
import sys
from pathlib import Path

import torch
from triton.testing import do_bench


def load(path: Path):
    """A Python file as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def copy_ms(moved: int) -> float:
    """Milliseconds to copy as many bytes as an answer moves: half read, half written."""
    source = torch.empty(moved // 2, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return do_bench(lambda: target.copy_(source), return_mode="median")


def main(answer: Path, timing: Path) -> None:
    """Print one line a case."""
    cases = load(timing)
    function = getattr(load(answer), cases.FUNCTION)
    print(f"  {'case':34} {'GB/s':>8} {'copy':>8} {'share':>7}")
    for label, arguments, moved in cases.cases("cuda"):
        function(*arguments)  # compiles
        took = do_bench(lambda f=function, a=arguments: f(*a), return_mode="median")
        copied = copy_ms(moved)
        rate, best = moved / took / 1e6, moved / copied / 1e6
        print(f"  {label:34} {rate:8.0f} {best:8.0f} {rate / best:7.0%}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
