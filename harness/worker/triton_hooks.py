"""The hooks into Triton's interpreter: each access passes a check before it reaches memory.

All of them are private names of Triton (seen on 3.8 and 3.9). One that is missing is left out, and
`triton_watch.probe` then finds what no longer works.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import triton

from harness.worker.torch_watch import OURS, Findings, TorchReport, caller_line
from harness.worker.triton_memory import Lanes, Launch, regions_of

PASSING_OVER = (*OURS, str(Path(triton.__file__).parent))
Hook = Callable[[Callable[..., Any]], Callable[..., Any]]


class InterpreterHooks:
    """What to replace in the interpreter, and the launch that is running."""

    def __init__(
        self, interpreter: Any, given: dict[int, Lanes], torch_report: TorchReport
    ) -> None:
        self.launches = Findings()
        self.out_of_bounds = Findings()
        self.races = Findings()
        self._interpreter = interpreter
        self._builder = interpreter.interpreter_builder
        self._given = given
        self._torch = torch_report
        self._launch: Launch | None = None
        self._order: list[int] = []

    def all(self) -> list[tuple[Any, str, Any]]:
        """(owner, name, original -> replacement)."""
        executor = self._interpreter.GridExecutor
        return [
            (self._interpreter, "_interpreter", lambda raw: CheckedMemory(raw, self)),
            (executor, "_init_args_hst", self._around_start),
            (executor, "_restore_args_dev", self._around_end),
            (self._builder, "set_grid_dim", self._around_size),
            (self._builder, "set_grid_idx", self._around_program),
            (self._builder, "create_masked_load", self._around_masked_load),
        ]

    def access(self, kind: str, pointers: Any, mask: Any, item: int) -> Lanes:
        """Check an access of the running program; which of its lanes are out of bounds."""
        if self._launch is None:
            return np.zeros(pointers.shape, np.bool_)
        program = int(np.ravel_multi_index(self._builder.grid_idx, self._launch.grid))
        return self._launch.access(kind, pointers, mask, item, program, caller_line(PASSING_OVER))

    def _around_start(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def start(executor: Any, args: Any, kwargs: Any) -> Any:
            with self._torch.pausing():
                on_host = original(executor, args, kwargs)
            bound = inspect.getcallargs(executor.fn, *on_host[0], **on_host[1])
            regions = regions_of(bound, self._given, self._torch.allocations)
            name = executor.fn.__name__[:120]
            self._launch = Launch(name, (), regions, self.out_of_bounds, self.races)
            return on_host

        return start

    def _around_end(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def end(*args: Any) -> Any:
            self._launch = None
            with self._torch.pausing():
                return original(*args)

        return end

    def _around_size(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def size(*grid: Any) -> Any:
            sizes = tuple(int(n) for n in grid)
            if self._launch is not None:
                self._launch.grid = sizes
                self.launches.add(kernel=self._launch.kernel, grid=list(sizes))
            self._order = shuffled_order(int(np.prod(sizes)))
            return original(*grid)

        return size

    def _around_program(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def program(*at: int) -> Any:
            grid = self._builder.grid_dim
            mapped = self._order[int(np.ravel_multi_index(at, grid))]
            return original(*(int(i) for i in np.unravel_index(mapped, grid)))

        return program

    def _around_masked_load(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def masked_load(pointers: Any, mask: Any, other: Any, *rest: Any) -> Any:
            if other is None:
                kind = pointers.get_element_ty()
                dtype = self._interpreter._get_np_dtype(kind)
                filled = np.full(pointers.data.shape, poison(dtype), dtype)
                other = self._interpreter.TensorHandle(filled, kind)
            return original(pointers, mask, other, *rest)

        return masked_load


class CheckedMemory:
    """Stands where the interpreter looks for its raw memory functions; the rest passes through."""

    def __init__(self, raw: Any, hooks: InterpreterHooks) -> None:
        self._raw = raw
        self._hooks = hooks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def load(self, pointers: Any, mask: Any, other: Any, dtype: Any) -> Any:
        """Lanes out of bounds read as NaN."""
        outside = self._hooks.access("load", pointers, mask, np.dtype(dtype).itemsize)
        if outside.any():
            mask = mask & ~outside
            other = np.where(outside, np.asarray(poison(dtype), dtype), other).astype(dtype)
        return self._raw.load(pointers, mask, other, dtype)

    def store(self, pointers: Any, value: Any, mask: Any) -> Any:
        """Lanes out of bounds write nothing."""
        outside = self._hooks.access("store", pointers, mask, value.dtype.itemsize)
        return self._raw.store(pointers, value, mask & ~outside)

    def atomic_rmw(self, op: Any, pointers: Any, value: Any, mask: Any, order: Any) -> Any:
        """Lanes out of bounds write nothing."""
        outside = self._hooks.access("atomic", pointers, mask, value.dtype.itemsize)
        return self._raw.atomic_rmw(op, pointers, value, mask & ~outside, order)

    def atomic_cas(self, pointers: Any, expected: Any, value: Any, order: Any) -> Any:
        """There is no mask to leave a lane out with, so one out of bounds ends the launch."""
        everywhere = np.ones(pointers.shape, np.bool_)
        if self._hooks.access("atomic", pointers, everywhere, value.dtype.itemsize).any():
            raise IndexError("an atomic compare-and-swap outside the kernel's tensors")
        return self._raw.atomic_cas(pointers, expected, value, order)


@contextmanager
def replaced(owner: Any, name: str, hook: Hook) -> Iterator[None]:
    """Put `hook(owner.name)` in the place of `owner.name`, where there is one."""
    original = getattr(owner, name, None)
    if original is None:
        yield
        return
    own = name in vars(owner)
    setattr(owner, name, hook(original))
    try:
        yield
    finally:
        if own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)


def shuffled_order(size: int) -> list[int]:
    """The same order at every run of this size; the first program does not go first."""
    order = random.Random(size).sample(range(size), size)
    return order[::-1] if order and order[0] == 0 else order


def poison(dtype: Any) -> Any:
    """NaN, or the largest number: its bytes read as NaN in the types kept as integers."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return np.nan
    return True if kind.kind == "b" else np.iinfo(kind).max
