"""Which operations torch ran during a call, with poison in fresh memory and guards around it.

Memory that torch hands out comes with guard bytes on both sides and is filled with NaN (255 in
every byte), so that an element nobody wrote, a read past the end and a write past the end show on
any device.

It observes from inside the candidate's process and promises nothing against code that means to
hide: another thread, a library of its own or a patched mode are not seen. What the judge can see by
itself is the values, and the whole storages of the inputs after the call.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

GUARD_BYTES = 16 * 1024  # on each side of what torch allocates during a call
FILL = 255  # as a byte; NaN in every float type, -1 in every signed integer
MAX_SEEN = 16  # findings of one kind that cross to the judge; the rest are counted
MAX_OPS = 64  # different operations that cross
UNFILLED = frozenset({"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"})
FILLED = frozenset(
    {
        "zeros",
        "zeros_like",
        "new_zeros",
        "ones",
        "ones_like",
        "new_ones",
        "full",
        "full_like",
        "new_full",
        "clone",
        "_to_copy",
    }
)
LEAVES = frozenset({"numpy", "tolist", "__array__", "__dlpack__"})  # values go where torch is not
OURS = tuple(str(Path(file).parent) for file in (__file__, torch.__file__))


@dataclass(slots=True)
class Findings:
    """Findings of one kind: the first few in full, all of them counted."""

    kept: list[dict[str, Any]] = field(default_factory=list)
    count: int = 0

    def add(self, **finding: Any) -> None:
        """Count a finding, and keep it if it is among the first."""
        self.count += 1
        if len(self.kept) < MAX_SEEN:
            self.kept.append(finding)


@dataclass(frozen=True, slots=True)
class Guarded:
    """One allocation: the payload lies between two guards in `flat`."""

    flat: torch.Tensor  # bytes
    payload_bytes: int
    shape: list[int]

    def broken(self) -> dict[str, Any] | None:
        """The first changed guard byte, as an offset from the payload's first byte."""
        tail = self.flat[GUARD_BYTES + self.payload_bytes :]
        for start, guard in ((-GUARD_BYTES, self.flat[:GUARD_BYTES]), (self.payload_bytes, tail)):
            changed = guard.ne(FILL).nonzero()
            if changed.numel():
                # In front of the payload, the byte nearest to it says most.
                nearest = changed[-1] if start < 0 else changed[0]
                offset = start + int(nearest)
                return {"shape": self.shape, "offset": offset, "size": self.payload_bytes}
        return None


@dataclass(slots=True)
class TorchReport:
    """What torch did. `paused` is set while operations are not the candidate's own."""

    ops: dict[str, list[int]] = field(default_factory=dict)  # name: [how often, first line]
    allocations: list[Guarded] = field(default_factory=list)
    broken_guards: Findings = field(default_factory=Findings)
    not_checked: dict[str, str] = field(default_factory=dict)
    paused: bool = False

    def saw(self, op: str) -> None:
        """Count one operation, with the line it came from the first time."""
        self.ops.setdefault(op, [0, caller_line(OURS)])[0] += 1

    @contextmanager
    def pausing(self) -> Iterator[None]:
        """Leave alone what torch does inside the block."""
        self.paused = True
        try:
            yield
        finally:
            self.paused = False

    def facts(self) -> dict[str, Any]:
        """The report as plain data."""
        seen = [{"op": op, "count": n, "line": line} for op, (n, line) in self.ops.items()]
        return {
            "torch_ops": seen[:MAX_OPS],
            "broken_guards": self.broken_guards.kept,
            "not_checked": dict(self.not_checked),
        }


@contextmanager
def watch_torch() -> Iterator[TorchReport]:
    """Observe what torch runs in this thread; the report is complete when the block ends."""
    report = TorchReport()
    with _Leaves(report), _Operations(report):
        yield report
    try:
        broken = [guarded.broken() for guarded in report.allocations]
    except RuntimeError as error:  # a device that faulted: the values say so when they are read
        report.not_checked["guards"] = f"the device failed: {str(error)[:200]}"
    else:
        for found in filter(None, broken):
            report.broken_guards.add(**found)


def caller_line(passing_over: tuple[str, ...]) -> int:
    """The line of the innermost frame outside these folders; 0 when there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(passing_over):
            return frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return 0


class _Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # or the first operation imports all of torch._dynamo, which takes a second

    def __init__(self, report: TorchReport) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._report = report

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if self._report.paused:
            return result
        name = func.overloadpacket.__name__
        self._report.saw(f"aten.{name}" if func.namespace == "aten" else str(func))
        if (name in UNFILLED or name in FILLED) and "out" not in kwargs:
            return self._guard(result, copy=name in FILLED)
        return result

    def _guard(self, fresh: torch.Tensor, *, copy: bool) -> torch.Tensor:
        """The same tensor in memory of our own; the guards keep a whole number of its elements."""
        if fresh.layout != torch.strided or fresh.is_meta:
            return fresh
        item, payload_bytes = fresh.element_size(), fresh.untyped_storage().nbytes()
        if not payload_bytes or payload_bytes % item:
            return fresh
        flat = torch.empty(
            payload_bytes + 2 * GUARD_BYTES, dtype=torch.uint8, device=fresh.device
        ).fill_(FILL)
        offset = GUARD_BYTES // item + fresh.storage_offset()
        payload = flat.view(fresh.dtype).as_strided(fresh.shape, fresh.stride(), offset)
        if copy:
            payload.copy_(fresh)
        self._report.allocations.append(Guarded(flat, payload_bytes, list(fresh.shape)))
        return payload


class _Leaves(TorchFunctionMode):
    def __init__(self, report: TorchReport) -> None:
        super().__init__()
        self._report = report

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in LEAVES and not self._report.paused:
            self._report.saw(f"Tensor.{name}")
        return func(*args, **(kwargs or {}))
