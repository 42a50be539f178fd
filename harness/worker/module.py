"""Loading the candidate's file as an ordinary module, and naming what its exceptions say."""

from __future__ import annotations

import builtins
import importlib.util
import linecache
import sys
from pathlib import Path
from types import ModuleType

from harness.border.messages import (
    MAX_BASES,
    MAX_CODE_CHARS,
    MAX_LINE,
    MAX_MESSAGE_CHARS,
    MAX_NAME_CHARS,
    Where,
)


def load(name: str, source: bytes, folder: Path) -> ModuleType:
    """Import `source` as module `name`, from a real file so that `inspect` can read it.

    The module stands in `sys.modules` before its first line runs: dataclasses with postponed
    annotations look themselves up there.
    """
    path = folder / f"{name}.py"
    path.write_bytes(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def public_names(module: ModuleType) -> list[str]:
    """The names of what the module offers to be called."""
    return sorted(
        name[:120]
        for name, value in list(vars(module).items())
        if not name.startswith("_") and callable(value)
    )[:1000]


def describe(error: BaseException, path: str) -> Where:
    """An exception by its types, message and the deepest line inside the candidate's file."""
    bases = type.__dict__["__mro__"].__get__(type(error))[:MAX_BASES]
    try:
        line, code = _last_line(error, path)
    except Exception:  # noqa: BLE001 - a SyntaxError of the candidate's own can hold anything
        line, code = 0, ""
    return Where(
        type=_name(bases[0]),
        bases=[_full_name(base) for base in bases],
        message=_message(error),
        line=line if 0 <= line <= MAX_LINE else 0,
        code=code,
    )


def _name(kind: type) -> str:
    """A class's name, past whatever its metaclass says of it."""
    name = type.__dict__["__name__"].__get__(kind)
    return _clean(str(name))[: MAX_NAME_CHARS - len("builtins.")]


def _full_name(kind: type) -> str:
    name = _name(kind)
    if vars(builtins).get(name) is kind:
        return f"builtins.{name}"
    return name.replace(".", "_")  # a class may be called "builtins.ValueError" too


def _clean(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _message(error: BaseException) -> str:
    try:
        if isinstance(error, SyntaxError):
            return _clean(f"{error.msg}")[:MAX_MESSAGE_CHARS]
        return _clean(str(error))[:MAX_MESSAGE_CHARS]
    except BaseException as nested:  # noqa: BLE001 - the candidate's own __str__ may raise anything
        return f"its message could not be read: {_name(type(nested))}"


def _last_line(error: BaseException, path: str) -> tuple[int, str]:
    if isinstance(error, SyntaxError) and error.filename == path:
        return int(error.lineno or 0), _clean(str(error.text or "").rstrip())[:MAX_CODE_CHARS]
    if type(error).__name__ == "InterpreterError" and error.__cause__ is not None:
        return _last_line(error.__cause__, path)  # Triton's: the line in the kernel says more
    line, walk = 0, error.__traceback__
    while walk is not None:  # millions of frames, with no memory left, after endless recursion
        if walk.tb_frame.f_code.co_filename == path:
            line = walk.tb_lineno
        walk = walk.tb_next
    return line, _clean(linecache.getline(path, line).strip())[:MAX_CODE_CHARS]
