"""Writing a record of calls as Python that can be pasted under the candidate's file."""

from __future__ import annotations

import math
import re
import struct
from typing import Any

from harness.border.values import DType, Object
from harness.suite.calls import PENDING, Call
from harness.suite.printable import printable
from harness.suite.statistics import tally, times

MAX_ANSWER_CHARS = 160  # of a comment; the values of a finding stand in full beside wanted and got
MAX_LINES = 200  # of a script; what is left out of a longer one is counted in its middle
MAX_PARTS = 20_000  # of a value that is written out
LARGEST_FLOAT32 = 3.4e38
NOT_FINITE = re.compile(r"\b(nan|inf)\b")
MANY_DRAWS = 256  # rows of an integer answer from which on they are counted, not written out
COMMONEST = 4
OBJECT_NAMES = "abcdefghijklmnopqrstuvwxyz"


def script(calls: list[Call]) -> list[str]:
    """One line a call, its outcome as a comment."""
    names: dict[int, str] = {}
    used = _used_later(calls)
    left_out = range(MAX_LINES // 2, len(calls) - MAX_LINES // 2)
    lines = []
    for position, call in enumerate(calls):
        named = _is_object(call) or id(call) in used
        name = _name(len(names)) if named else ""
        if position not in left_out:
            text = _expression(call, names)
            lines.append(printable((f"{name} = {text}" if named else text) + _outcome(call)))
        elif position == left_out.start:
            lines.append(f"# ... {len(left_out):,} more calls ...")
        if named:
            names[id(call)] = name
    return lines


def imports(calls: list[Call]) -> list[str]:
    """What the script needs beside the candidate's own names."""
    text = " ".join(line.partition("  # ")[0] for line in script(calls))
    wanted = []
    if "torch." in text:
        wanted.append("import torch")
    if NOT_FINITE.search(text):
        wanted.append("from math import inf, nan")
    return wanted


def _name(position: int) -> str:
    letters = len(OBJECT_NAMES)
    return OBJECT_NAMES[position % letters] + (
        str(position // letters) if position >= letters else ""
    )


def _is_object(call: Call) -> bool:
    return isinstance(call.value, Object) or call.op == "generator"


def _used_later(calls: list[Call]) -> set[int]:
    """The calls whose results are targets or arguments of others."""
    used = {id(call.target) for call in calls}
    for call in calls:
        used.update(id(getattr(arg, "asked", arg)) for arg in (*call.args, *call.kwargs.values()))
    return used


def _expression(call: Call, names: dict[int, str]) -> str:
    if call.op == "generator":
        return f"torch.Generator().manual_seed({call.args[0]})"
    if call.op == "seed":
        return f"torch.manual_seed({call.args[0]})"
    owner = "" if call.target is None else f"{names.get(id(call.target), '?')}."
    if call.op == "read":
        return f"{owner}{call.name}"
    arguments = [show(arg, names) for arg in call.args]
    arguments += [f"{key}={show(arg, names)}" for key, arg in call.kwargs.items()]
    return f"{owner}{call.name}({', '.join(arguments)})"


def _outcome(call: Call) -> str:
    if call.fault is not None:
        return f"  # {call.fault.words}"
    if call.error is not None:
        return f"  # raises {call.error.type}"
    if call.value is PENDING or call.value is None or _is_object(call):
        return ""
    return f"  # -> {_cut(_answer(call.value))}"


def _answer(value: Any) -> str:
    """An answer as source; many draws by how often each came out."""
    if type(value) is tuple and len(value) > 1:
        return f"({', '.join(map(_answer, value))})"
    if not hasattr(value, "untyped_storage") or value.is_floating_point():
        return show(value, {})
    if value.dim() not in (1, 2) or len(value) < MANY_DRAWS:
        return show(value, {})
    counts = sorted(tally(value).items(), key=lambda item: -item[1])
    listed = [f"{show(key)} {times(count)}" for key, count in counts[:COMMONEST]]
    more = f" and {len(counts) - COMMONEST:,} others" if len(counts) > COMMONEST else ""
    return f"{len(value):,} rows: {', '.join(listed)}{more}"


def _cut(text: str) -> str:
    text = " ".join(text.split())
    if len(text) <= MAX_ANSWER_CHARS:
        return text
    return f"{text[:MAX_ANSWER_CHARS]} ... ({len(text):,} characters)"


def show(value: Any, names: dict[int, str] | None = None) -> str:
    """A value as Python source, tensors included; one that nobody would read as its size."""
    return _shown(value, names) if _parts(value) <= MAX_PARTS else _in_short(value)


def _parts(value: Any) -> int:
    """How many characters, numbers and containers a value has; counting ends past the limit."""
    count, left = 0, [value]
    while left and count <= MAX_PARTS:
        item = left.pop()
        count += 1
        if hasattr(item, "untyped_storage"):
            count += 0 if hasattr(item, "source") else _written(item)
        elif isinstance(item, (str, bytes)):
            count += len(item) // 8
        elif isinstance(item, dict):
            count += len(item)
            left += (*item.keys(), *item.values()) if count <= MAX_PARTS else ()
        elif isinstance(item, (list, tuple, set, frozenset)):
            count += len(item)
            left += item if count <= MAX_PARTS else ()
    return count


def _written(tensor: Any) -> int:
    """How many numbers of a tensor are written out: a row that is expanded stands once."""
    sizes = zip(tensor.shape, tensor.stride(), strict=True)
    return math.prod(size for size, step in sizes if step or not size)


def _in_short(value: Any) -> str:
    if hasattr(value, "untyped_storage"):
        return f"<a tensor of {list(value.shape)}, {value.dtype}>"
    if isinstance(value, (str, bytes, list, tuple, dict, set, frozenset)):
        return f"<a {type(value).__name__} of {len(value):,}>"
    return f"<a {type(value).__name__}>"


def _shown(value: Any, names: dict[int, str] | None) -> str:
    asked = getattr(value, "asked", None)
    if asked is not None:
        return (names or {}).get(id(asked), "?")
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if type(value) in (list, tuple):
        inner = ", ".join(_shown(item, names) for item in value)
        comma = "," if type(value) is tuple and len(value) == 1 else ""
        return f"[{inner}]" if type(value) is list else f"({inner}{comma})"
    if type(value) is dict:
        pairs = (f"{_shown(key, None)}: {_shown(item, names)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, (Object, DType)) or not hasattr(value, "untyped_storage"):
        return repr(value)
    return _tensor(value)


def _tensor(value: Any) -> str:
    """A tensor by the expression it was made with, or by its values and, if unusual, strides."""
    source = getattr(value, "source", None)
    if source is not None:
        return str(source)
    dtype = str(value.dtype)
    if value.numel() == 0:
        return f"torch.zeros({list(value.shape)}, dtype={dtype})"
    plain = dtype in ("torch.float32", "torch.int64", "torch.bool")
    ending = ")" if plain else f", dtype={dtype})"
    if value.is_contiguous():
        return f"torch.tensor({_numbers(value.tolist())}{ending}"
    if value.dim() == 2 and value.t().is_contiguous():
        return f"torch.tensor({_numbers(value.t().tolist())}{ending}.t()"
    if 0 in value.stride():
        return _expanded(value, ending)
    return (
        f"torch.tensor({_numbers(_storage(value).tolist())}{ending}"
        f".as_strided({tuple(value.shape)}, {value.stride()}, {value.storage_offset()})"
    )


def _expanded(value: Any, ending: str) -> str:
    shape = list(value.shape)
    for dim, step in enumerate(value.stride()):
        if step == 0:
            value = value.narrow(dim, 0, min(1, shape[dim]))
    return f"torch.tensor({_numbers(value.tolist())}{ending}.expand({shape})"


def _storage(value: Any) -> Any:
    import torch

    return torch.empty(0, dtype=value.dtype).set_(value.untyped_storage())


def _numbers(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_numbers(item) for item in value) + "]"
    if isinstance(value, float):
        return _number(value)
    return str(value)


def _number(value: float) -> str:
    """A float that stays one when it is pasted: 1.0 and not 1; all digits where fp32 has fewer."""
    if not math.isfinite(value):
        return show(value)
    text = f"{value:.9g}"
    if abs(value) > LARGEST_FLOAT32 or _as_float32(float(text)) != value:
        text = repr(value)
    return text if "." in text or "e" in text else f"{text}.0"


def _as_float32(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])
