"""Which bytes a kernel launch may touch, and which program touched each of them first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from harness.worker.torch_watch import GUARD_BYTES, Findings, Guarded

NOBODY = -1
FAR_BYTES = 2**62  # offsets beyond it are cut, so that they cross as whole numbers
CONFLICTS = {
    "load": ("store", "atomic"),
    "store": ("load", "store", "atomic"),
    "atomic": ("load", "store"),
}
Lanes = NDArray[np.bool_]
Bytes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Argument:
    """A tensor that the kernel was given: its name, first byte and length, gaps included."""

    name: str
    first: int
    size: int

    def distance(self, address: int) -> int:
        """Bytes between `address` and the argument; 0 inside it."""
        return max(self.first - address, address - (self.first + self.size - 1), 0)


@dataclass(slots=True)
class Region:
    """One storage that the launch was given, and who touched which of its bytes."""

    start: int
    allowed: Lanes
    arguments: list[Argument] = field(default_factory=list)
    _owners: dict[str, NDArray[np.int32]] = field(default_factory=dict)

    def owners(self, access: str) -> NDArray[np.int32]:
        """For each byte, the first program with this kind of access.

        The interpreter runs one program at a time, so the first is another than the running one
        exactly when any other has been there.
        """
        if access not in self._owners:
            self._owners[access] = np.full(len(self.allowed), NOBODY, np.int32)
        return self._owners[access]

    def take(self, access: str, touched: Bytes, program: int) -> tuple[int, str, int] | None:
        """Record an access; the first conflict as (byte, the other's access, the other)."""
        conflict = None
        for other in CONFLICTS[access]:
            before = self.owners(other)[touched]
            foreign = np.flatnonzero((before != NOBODY) & (before != program))
            if len(foreign) and conflict is None:
                at = foreign[0]
                conflict = int(touched[at]), other, int(before[at])
        owners = self.owners(access)
        owners[touched[owners[touched] == NOBODY]] = program
        return conflict


@dataclass(slots=True)
class Launch:
    """One launch: what it was given, and the findings that its accesses add to."""

    kernel: str
    grid: tuple[int, ...]
    regions: list[Region]
    out_of_bounds: Findings
    races: Findings

    def access(
        self, kind: str, pointers: Any, mask: Any, item: int, program: int, line: int
    ) -> Lanes:
        """Check one access of `item` bytes a lane; which of its lanes are out of bounds."""
        live = np.broadcast_to(mask, pointers.shape)
        addresses = np.asarray(pointers[live]).astype(np.int64)
        outside = np.ones(len(addresses), np.bool_)
        here = {
            "kernel": self.kernel,
            "access": kind,
            "program": self._position(program),
            "line": line,
        }
        for region in self.regions:
            first = addresses - region.start
            near = np.flatnonzero((first >= 0) & (first <= len(region.allowed) - item))
            touched = first[near, None] + np.arange(item)
            inside = region.allowed[touched].all(axis=1)
            outside[near[inside]] = False
            conflict = region.take(kind, touched[inside].reshape(-1), program)
            if conflict is not None:
                self._add_race(region, here, *conflict)
        if outside.any():
            self._add_out_of_bounds(here, addresses[outside], item)
        lanes = np.zeros(pointers.shape, np.bool_)
        lanes[live] = outside
        return lanes

    def _position(self, program: int) -> list[int]:
        return [int(i) for i in np.unravel_index(program, self.grid)]

    def _nearest(self, address: int, regions: list[Region]) -> Argument:
        arguments = [argument for region in regions for argument in region.arguments]
        unnamed = Argument("memory that it was not passed", address, 0)
        return min(arguments, key=lambda a: a.distance(address), default=unnamed)

    def _add_race(
        self, region: Region, here: dict[str, Any], at: int, other: str, before: int
    ) -> None:
        argument = self._nearest(region.start + at, [region])
        offset = region.start + at - argument.first
        self.races.add(
            **here,
            arg=argument.name,
            offset=offset,
            other_access=other,
            other_program=self._position(before),
        )

    def _add_out_of_bounds(self, here: dict[str, Any], addresses: Bytes, item: int) -> None:
        argument = self._nearest(int(addresses[0]), self.regions)
        offset = max(-FAR_BYTES, min(int(addresses[0]) - argument.first, FAR_BYTES))
        self.out_of_bounds.add(
            **here,
            arg=argument.name,
            offset=offset,
            size=argument.size,
            item=item,
            lanes=len(addresses),
        )


def elements_by_storage(inputs: Any) -> dict[int, Lanes]:
    """For each storage in the call's arguments, which of its bytes are elements passed to it."""
    found: dict[int, Lanes] = {}
    for tensor in tensors_in(inputs):
        storage = tensor.untyped_storage()
        elements = found.setdefault(storage.data_ptr(), np.zeros(storage.nbytes(), np.bool_))
        _mark_elements(elements, tensor)
    return found


def regions_of(
    arguments: dict[str, Any], given: dict[int, Lanes], allocations: list[Guarded]
) -> list[Region]:
    """The storages that a kernel may touch, each with its allowed bytes.

    Of what the call was given, the elements; of what torch allocated since, the payload between
    the guards (both also when the kernel finds them by an address in an integer); of anything else
    among the kernel's arguments, all.
    """
    regions = {start: Region(start, elements) for start, elements in given.items() if start}
    for made in allocations:
        allowed = np.zeros(made.flat.numel(), np.bool_)
        allowed[GUARD_BYTES : GUARD_BYTES + made.payload_bytes] = True
        regions[made.flat.data_ptr()] = Region(made.flat.data_ptr(), allowed)
    for name, value in arguments.items():
        for tensor in tensors_in(value):
            storage = tensor.untyped_storage()
            start = storage.data_ptr()
            if start:
                whole = Region(start, np.ones(storage.nbytes(), np.bool_))
                argument = Argument(name, tensor.data_ptr(), _span_bytes(tensor))
                regions.setdefault(start, whole).arguments.append(argument)
    return list(regions.values())


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The strided tensors in a value: inside lists, tuples, dicts and Triton's descriptors too."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, torch.Tensor):
            if item.layout == torch.strided:
                yield item
        elif isinstance(item, list | tuple):
            pending.extend(item)
        elif isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(getattr(item, "base", None), torch.Tensor):
            pending.append(item.base)


def _mark_elements(elements: Lanes, tensor: torch.Tensor) -> None:
    index = np.full(1, tensor.storage_offset(), np.int64)
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        # An expanded dimension repeats elements that are marked already.
        steps = np.arange(min(size, 1) if stride == 0 else size, dtype=np.int64) * stride
        index = (index[:, None] + steps).reshape(-1)
    item = tensor.element_size()
    elements[: len(elements) // item * item].reshape(-1, item)[index] = True


def _span_bytes(tensor: torch.Tensor) -> int:
    if not tensor.numel():
        return 0
    reach = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return (reach + 1) * tensor.element_size()
