"""Which values may cross the border, and how each is written in msgpack.

Plain numbers, strings, bytes and lists are themselves. Everything else is a map with one key that
names its kind, so that a tuple is not a list and a tensor is not anything else. Objects of the
candidate's own stay in the worker; only a number for them crosses. Subclasses cross as the
built-in type they extend, so no overridden `__eq__`, `__len__` or `__iter__` gets to the judge.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.border.frames import BadFrame

if TYPE_CHECKING:
    from harness.border.tensors import Blobs

MAX_DEPTH = 24
MAX_READ_DEPTH = 2 * MAX_DEPTH + 2  # a dict's pairs are a level of their own
MAX_INT_BITS = 4096
MAX_NAME_CHARS = 120
MAX_ALIKE_HASHES = 32  # keys made to collide cost the judge the square of their number
LEAST, MOST = -(2**63), 2**63 - 1
AS_THEY_ARE = frozenset({type(None), bool, float, bytes})
SCALARS = AS_THEY_ARE | {int, str}


@dataclass(frozen=True, slots=True)
class Object:
    """Something that lives in the worker. Equal to nothing but itself."""

    id: int
    type: str = field(compare=False)

    def __repr__(self) -> str:
        return f"<{self.type}>"


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value that may not cross, described in words."""

    what: str

    def __repr__(self) -> str:
        return f"<{self.what}>"


@dataclass(frozen=True, slots=True)
class DType:
    """A torch dtype by name: `DType("float16")`."""

    name: str

    def __repr__(self) -> str:
        return f"torch.{self.name}"


Hold = Callable[[object], int]
Find = Callable[[int], object]


def pack(value: Any, blobs: Blobs, hold: Hold, depth: int = 0) -> Any:
    """Write a value with built-in types only; `hold` numbers an object that has to stay."""
    kind = type(value)  # what an object says of its own class may be a lie
    if kind in AS_THEY_ARE or (kind is int and LEAST <= value <= MOST):
        return value
    if kind is str and value.isascii():
        return value
    if depth > MAX_DEPTH:
        return {"opaque": f"nested more than {MAX_DEPTH} levels deep"}
    if kind is list:
        return [pack(item, blobs, hold, depth + 1) for item in value]
    if kind is Opaque:
        return {"opaque": value.what}
    if kind is DType:
        return {"dtype": value.name}
    if issubclass(kind, (int, float, str, bytes)):
        return _pack_scalar(value)
    if issubclass(kind, (list, tuple, set, frozenset, dict)):
        return _pack_container(value, blobs, hold, depth + 1)
    return _pack_library_value(value, blobs, hold)


def _pack_scalar(value: int | float | str | bytes) -> Any:
    if isinstance(value, int):
        number = int.__int__(value)
        if LEAST <= number <= MOST:
            return number
        if number.bit_length() > MAX_INT_BITS:
            return {"opaque": f"a whole number of {number.bit_length():,} bits"}
        return {"int": hex(number)}
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, bytes):
        return bytes.__getitem__(value, slice(None))
    text = str.__str__(value)
    if text.isascii() or _is_unicode(text):
        return text
    return {"opaque": "text that is not valid Unicode"}


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _pack_container(value: Any, blobs: Blobs, hold: Hold, depth: int) -> Any:
    def inner(item: Any) -> Any:
        return pack(item, blobs, hold, depth)

    if isinstance(value, list):
        return [inner(item) for item in list.__iter__(value)]
    if isinstance(value, tuple):
        return {"tuple": [inner(item) for item in tuple.__iter__(value)]}
    if isinstance(value, dict):
        return {"dict": [[inner(key), inner(item)] for key, item in dict.items(value)]}
    items = set.__iter__(value) if isinstance(value, set) else frozenset.__iter__(value)
    return {"set": [inner(item) for item in items]}


def _pack_library_value(value: Any, blobs: Blobs, hold: Hold) -> Any:
    """A tensor, a dtype, a numpy number, or an object that stays where it is."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    kind = type(value)
    if torch is not None:
        if issubclass(kind, torch.Tensor):
            return blobs.pack(value)
        if kind is torch.dtype:
            return {"dtype": str(value).removeprefix("torch.")}
    if numpy is not None and issubclass(kind, numpy.generic):
        plain = value.item()
        if type(plain) in (bool, int, float):
            return pack(plain, blobs, hold)
    name = str(getattr(kind, "__name__", "object"))[:MAX_NAME_CHARS]
    return {"object": [hold(value), name]}


def unpack(raw: Any, blobs: Blobs, find: Find | None = None, depth: int = 0) -> Any:
    """Rebuild a value from a decoded frame; raise `BadFrame` for anything not written by `pack`.

    `find` gives the object for a number on the worker's side; without it an `Object` is returned.
    """
    if type(raw) in SCALARS:
        return raw
    if depth > MAX_READ_DEPTH:
        raise BadFrame(f"a value nested more than {MAX_DEPTH} levels deep")
    blobs.containers += 1
    if type(raw) is list:
        return [
            item if type(item) in SCALARS else unpack(item, blobs, find, depth + 1) for item in raw
        ]
    if type(raw) is not dict or len(raw) != 1:
        raise BadFrame(f"a value of kind {type(raw).__name__}")
    [(kind, body)] = raw.items()
    rebuild = _REBUILD.get(kind) if type(kind) is str else None
    if rebuild is None:
        raise BadFrame(f"a value of kind {kind!r:.40}")
    try:
        return rebuild(body, blobs, find, depth + 1)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise BadFrame(f"a malformed {kind}: {error!s:.80}") from None


def _items(body: Any, blobs: Blobs, find: Find | None, depth: int) -> list[Any]:
    if type(body) is not list:
        raise TypeError("not a list")
    return [unpack(item, blobs, find, depth) for item in body]


def _dict(body: Any, blobs: Blobs, find: Find | None, depth: int) -> dict[Any, Any]:
    pairs = _items(body, blobs, find, depth)
    if not all(type(pair) is list and len(pair) == 2 for pair in pairs):
        raise TypeError("not pairs")
    _check_hashes(key for key, _ in pairs)
    rebuilt = dict(pairs)
    if len(rebuilt) != len(pairs):
        raise ValueError("a key stands twice")
    return rebuilt


def _set(body: Any, blobs: Blobs, find: Find | None, depth: int) -> frozenset[Any]:
    items = _items(body, blobs, find, depth)
    _check_hashes(items)
    return frozenset(items)


def _check_hashes(keys: Iterable[Any]) -> None:
    alike = Counter(map(hash, keys))
    if alike and max(alike.values()) > MAX_ALIKE_HASHES:
        raise ValueError(f"more than {MAX_ALIKE_HASHES} keys of one hash")


def _int(body: Any, *_: Any) -> int:
    if type(body) is not str or len(body) > MAX_INT_BITS // 4 + 3:
        raise ValueError("too long")
    return int(body, 16)


def _object(body: Any, _blobs: Blobs, find: Find | None, _depth: int) -> object:
    number, name = body
    if type(number) is not int or type(name) is not str or len(name) > MAX_NAME_CHARS:
        raise TypeError("not a number and a name")
    return Object(number, name) if find is None else find(number)


def _dtype(body: Any, _blobs: Blobs, find: Find | None, _depth: int) -> object:
    if type(body) is not str or not body.isidentifier() or len(body) > MAX_NAME_CHARS:
        raise TypeError("not a name")
    if find is None:
        return DType(body)
    import torch  # the worker's side: the candidate wants the real thing

    return getattr(torch, body)


def _opaque(body: Any, *_: Any) -> Opaque:
    if type(body) is not str:
        raise TypeError("not words")
    return Opaque(body[:MAX_NAME_CHARS])


def _tensor(body: Any, blobs: Blobs, find: Find | None, _depth: int) -> object:
    return blobs.unpack(body, dense=find is None)


_REBUILD: dict[str, Callable[[Any, Any, Find | None, int], Any]] = {
    "tuple": lambda body, *rest: tuple(_items(body, *rest)),
    "set": _set,
    "dict": _dict,
    "int": _int,
    "object": _object,
    "opaque": _opaque,
    "dtype": _dtype,
    "tensor": _tensor,
}
