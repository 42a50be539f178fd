"""How tensors cross: dtype, shape, strides and raw bytes, never a method of theirs.

Towards the worker a tensor takes its whole storage along, once however many tensors share it: a
slice arrives as a slice, an expanded row as an expanded row, and a write outside the view is seen
when the storage comes back. Towards the judge only the elements cross, densely.

torch is imported when the first tensor is met, by whichever side meets it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from harness.border.frames import MAX_BLOB_BYTES, BadFrame

ALIGN = 64  # bytes; every blob starts on a multiple, so that it can be viewed in place
MAX_DIMS = 64
MAX_DEVICE_CHARS = 20
DTYPES = {
    "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RawTensor:
    """A checked tensor on a judge whose problem has none: shown, never computed with."""

    dtype: str
    shape: tuple[int, ...]

    def __repr__(self) -> str:
        return f"<tensor of {self.dtype}, shape {list(self.shape)}>"


@dataclass(slots=True)
class Blobs:
    """The raw bytes beside one message: filled when packing, read when unpacking.

    `whole` sends storages with their views; otherwise elements only. `device` is where unpacked
    tensors go ("" leaves them as checked, unbuilt `RawTensor`s).
    """

    received: bytearray = field(default_factory=bytearray)
    whole: bool = False
    device: str = "cpu"
    containers: int = 0  # lists, tuples, dicts and sets that were unpacked
    parts: list[bytes] = field(default_factory=list)
    _bytes: int = 0
    _starts: dict[int, tuple[int, int]] = field(default_factory=dict)
    _storages: dict[tuple[int, int, str], Any] = field(default_factory=dict)

    def pack(self, tensor: Any) -> dict[str, Any]:
        """Write a tensor; one that may not cross becomes words."""
        import torch

        with torch._C.DisableTorchFunctionSubclass():
            detached = torch.Tensor.detach(tensor)
            name, layout = str(detached.dtype).removeprefix("torch."), detached.layout
            where = detached.device.type
            if layout != torch.strided or where == "meta" or name not in DTYPES:
                return {"opaque": f"a tensor of {name}, {layout}, on {where}"}
            plain = detached.as_subclass(torch.Tensor)
            if plain.numel() * plain.element_size() > MAX_BLOB_BYTES - self._bytes:
                return {"opaque": f"a tensor of {plain.numel():,} elements, above the limit"}
            as_view = self.whole and plain.dim() > 0
            return self._pack_whole(plain, name) if as_view else self._pack_dense(plain, name)

    def _pack_whole(self, plain: Any, name: str) -> dict[str, Any]:
        import torch

        storage = plain.untyped_storage()
        key = storage.data_ptr()
        if key not in self._starts or not key:
            flat = torch.empty(0, dtype=torch.uint8, device=plain.device).set_(storage)
            self._starts[key] = self.append(flat.cpu().numpy().tobytes())
        start, size = self._starts[key]
        strides, offset = list(plain.stride()), plain.storage_offset()
        return {"tensor": [name, list(plain.shape), strides, offset, start, size, ""]}

    def _pack_dense(self, plain: Any, name: str) -> dict[str, Any]:
        import torch

        dense = plain.resolve_conj().resolve_neg().cpu().contiguous()
        # A lone element counts as contiguous whatever its strides, and then has no view as bytes.
        dense = dense.as_strided((dense.numel(),), (1,))
        start, size = self.append(dense.view(torch.uint8).numpy().tobytes())
        where = plain.device.type
        return {"tensor": [name, list(plain.shape), [], 0, start, size, where]}

    def append(self, raw: bytes) -> tuple[int, int]:
        """Add raw bytes; their start and length."""
        start = self._bytes
        padded = raw + bytes(-len(raw) % ALIGN)
        self.parts.append(padded)
        self._bytes += len(padded)
        return start, len(raw)

    def unpack(self, body: Any, *, dense: bool) -> Any:
        """Rebuild a tensor over the received bytes; raise `BadFrame` if it does not fit them.

        `dense` refuses strides: four bytes with strides of 0 can stand for a terabyte.
        """
        name, shape, strides, offset, start, size, where = body
        item = DTYPES.get(name) if type(name) is str else None
        if item is None:
            raise BadFrame(f"a tensor of dtype {name!r:.40}")
        if type(where) is not str or len(where) > MAX_DEVICE_CHARS:
            raise BadFrame("a tensor on a device without a name")
        _check_layout(shape, strides, offset, size, item)
        if dense and strides:
            raise BadFrame("a tensor with strides where elements are wanted")
        if not _whole_numbers([start]) or start % ALIGN or start + size > len(self.received):
            raise BadFrame("a tensor outside the bytes that were sent")
        if name == "bool" and self.received[start : start + size].translate(None, b"\0\1"):
            raise BadFrame("a tensor of truth values that are neither 0 nor 1")
        if not self.device:
            return RawTensor(name, tuple(shape))
        return self._build(name, shape, strides, offset, start, size, where)

    def _build(
        self, name: str, shape: Any, strides: Any, offset: int, start: int, size: int, where: str
    ) -> Any:
        import torch

        dtype = getattr(torch, name)
        count = size // DTYPES[name]
        key = (start, size, name)
        if key not in self._storages:
            self._storages[key] = (
                torch.frombuffer(self.received, dtype=dtype, count=count, offset=start)
                if count
                else torch.empty(0, dtype=dtype)
            ).to(self.device)
        flat = self._storages[key]
        built = flat.as_strided(shape, strides, offset) if strides else flat.reshape(shape)
        if where and where != "cpu":
            built.answered_on = where  # the suite compares it with where the inputs were
        return built


def _whole_numbers(numbers: Any) -> bool:
    return type(numbers) is list and all(type(n) is int and 0 <= n < 2**62 for n in numbers)


def _check_layout(shape: Any, strides: Any, offset: Any, size: Any, item: int) -> None:
    if not _whole_numbers(shape) or not _whole_numbers(strides) or len(shape) > MAX_DIMS:
        raise BadFrame("a tensor whose shape is not a short list of whole numbers")
    if not _whole_numbers([offset, size]) or size % item:
        raise BadFrame("a tensor whose bytes are not a whole number of elements")
    elements = math.prod(shape)
    if not strides:
        if offset or elements * item != size:
            raise BadFrame("a tensor whose shape does not match its bytes")
        return
    if len(strides) != len(shape):
        raise BadFrame("a tensor with more strides than dimensions, or fewer")
    last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    if elements and (last + 1) * item > size:
        raise BadFrame("a tensor that reaches past its storage")
