"""What Triton kernels touch while they run: launches, bounds, races, and what torch did beside.

On the CPU (TRITON_INTERPRET=1, set before Triton is imported) the interpreter's load and store
functions are wrapped: every lane of every access is compared with the elements of the tensors that
the kernel was given, and remembered by program.

- An access is out of bounds when it touches a byte that is no element of a tensor the call was
  given (the gaps of a slice are none), nor part of memory made elsewhere that the kernel was given.
  Such a lane is left out: a read gives NaN, a write is dropped, nothing crashes.
- A race is two programs of one launch at one byte, one of them writing, not both by atomics. Order
  made by atomics is not followed: a plain write that another program reads after a counter is one.
- Lanes that a mask leaves out read as NaN where no `other` is given; Triton leaves them undefined.
- Programs run in a shuffled order, the same at every run.

What it does not promise. It runs in the candidate's own process, and code that means to can switch
it off, launch from a thread, or compute beside torch. It is advice for the honest: no finding
proves nothing. From outside, the judge can check again the values and the whole storages of the
inputs (a write into the gaps of a slice shows there). It cannot check again the launches, the torch
operations, reads, races, nor writes around memory that the candidate allocated. Compiled kernels
(CUDA) are seen by name and grid only, with guard bytes around what torch allocates.

The hooks are private to Triton, so `probe` runs a kernel full of faults first: a check that misses
its fault is reported as not checked.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import torch
import triton

from harness.worker.torch_watch import Findings, TorchReport, watch_torch
from harness.worker.triton_hooks import InterpreterHooks, replaced
from harness.worker.triton_memory import elements_by_storage

with suppress(ImportError):
    importlib.import_module("triton.experimental.gluon")  # or the first launch of each fork does

CHECKS = ("launches", "bounds", "races", "order", "undefined lanes")


@dataclass(slots=True)
class Report:
    """Everything that was seen during one call. `facts` gives it as plain data."""

    torch: TorchReport
    not_checked: dict[str, str] = field(default_factory=dict)
    launches: Findings = field(default_factory=Findings)
    out_of_bounds: Findings = field(default_factory=Findings)
    races: Findings = field(default_factory=Findings)

    def facts(self) -> dict[str, Any]:
        """Lists, dicts, strings and whole numbers; the first findings of a kind and their count."""
        torch_facts = self.torch.facts()
        return {
            **torch_facts,
            "not_checked": {**self.not_checked, **torch_facts["not_checked"]},
            "launches": self.launches.kept,
            "num_launches": self.launches.count,
            "out_of_bounds": self.out_of_bounds.kept,
            "num_out_of_bounds": self.out_of_bounds.count,
            "races": self.races.kept,
            "num_races": self.races.count,
        }


@contextmanager
def watch(args: list[Any] | None = None, kwargs: dict[str, Any] | None = None) -> Iterator[Report]:
    """Observe one call that gets these arguments; the report is complete when the block ends."""
    not_checked = probe()
    with _watching([args or [], kwargs or {}]) as report:
        report.not_checked.update(not_checked)
        yield report


@functools.cache
def probe() -> dict[str, str]:
    """Which checks do not work on this installation, each with the reason.

    Call it before the candidate's code is imported; it computes, so never in the warm parent.
    """
    if not triton.knobs.runtime.interpret:
        reason = "the kernel is compiled for the device"
        return {check: reason for check in CHECKS if check != "launches"}
    from harness.worker.triton_canary import faulty_kernel

    x, out = torch.ones(3), torch.zeros(9)
    try:
        with _watching([x, out]) as report:
            faulty_kernel[(2,)](x, out, x.numel(), BLOCK=4)
    except Exception as error:  # noqa: BLE001 - whatever a changed Triton raises, nothing is checked
        return dict.fromkeys(CHECKS, f"Triton {triton.__version__} raised {type(error).__name__}")
    works = {
        "launches": report.launches.kept == [{"kernel": "faulty_kernel", "grid": [2, 1, 1]}],
        "bounds": _seen(report.out_of_bounds, "arg", "offset", "access")
        == [("x_ptr", 12, "load")] * 2,
        "races": _seen(report.races, "arg", "offset", "access") == [("out_ptr", 0, "store")],
        "order": _seen(report.races, "program") == [([0, 0, 0],)],
        "undefined lanes": bool(out[1:].isnan().all()),
    }
    reason = f"its hook into Triton {triton.__version__} does not work"
    return {check: reason for check in CHECKS if not works[check]}


def _seen(findings: Findings, *keys: str) -> list[tuple[Any, ...]]:
    return [tuple(finding[key] for key in keys) for finding in findings.kept]


@contextmanager
def _watching(inputs: Any) -> Iterator[Report]:
    interpreted = triton.knobs.runtime.interpret
    given = elements_by_storage(inputs) if interpreted else {}
    with ExitStack() as hooked, watch_torch() as torch_report:
        report = Report(torch_report)
        if interpreted:
            interpreter = importlib.import_module("triton.runtime.interpreter")
            hooks = InterpreterHooks(interpreter, given, torch_report)
            report.launches, report.races = hooks.launches, hooks.races
            report.out_of_bounds = hooks.out_of_bounds
            for owner, name, hook in hooks.all():
                hooked.enter_context(replaced(owner, name, hook))
        else:
            compiled = importlib.import_module("triton.runtime.jit").JITFunction
            hooked.enter_context(replaced(compiled, "run", _counting(report.launches)))
        yield report


def _counting(launches: Findings) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def around(run: Callable[..., Any]) -> Callable[..., Any]:
        def counted(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if not warmup:
                sizes = [] if callable(grid) else [int(n) for n in grid]
                launches.add(kernel=self.fn.__name__[:120], grid=sizes)
            return run(self, *args, grid=grid, warmup=warmup, **kwargs)

        return counted

    return around
