"""A pytest plugin that runs a suite on a file in pytest's own process: the baseline to beat.

No border, no isolation, no replay: its time is what the suite itself costs. Used by `bench/run.py`
and `bench/batch.py`.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from harness.border.messages import Used, Where
from harness.border.values import Object
from harness.judge.budget import QUICK
from harness.judge.examples import run_examples
from harness.suite.calls import Call, Record
from harness.suite.candidate import Candidate
from harness.suite.claims import ATTRIBUTE

ROOT = Path(__file__).resolve().parents[1]
PLAIN = (type(None), bool, int, float, str, bytes, list, tuple, dict)


def plain_pytest(slug: str, file: str, python: str = sys.executable) -> list[str]:
    """pytest on a problem's suite and a file, with this plugin and no other."""
    return [
        python, "-m", "pytest", "-q", "--tb=no", "-p", "no:harness", "-p", "bench.in_process",
        "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(ROOT),
        "--import-mode=importlib", f"{ROOT}/graders/{slug}.py", "--file", file,
    ]  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """The file to run the suite on."""
    parser.addoption("--file", required=True)


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """The same examples as the harness takes."""
    for item in items:
        if hasattr(item.obj, "hypothesis"):
            run_examples(item.obj, getattr(item.obj, ATTRIBUTE), QUICK, 2026)


@pytest.fixture
def candidate(request: pytest.FixtureRequest) -> Any:
    """The file's module, called directly."""
    spec = importlib.util.spec_from_file_location("submission", request.config.getoption("--file"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["submission"] = module
    spec.loader.exec_module(module)
    return Direct(module, getattr(request.module, "RECORDS", {}))


class Direct(Candidate):
    """The candidate without a border: a call is a call."""

    def __init__(self, module: Any, records: dict[str, tuple[str, ...]]) -> None:
        super().__init__(None, records=records)  # type: ignore[arg-type]
        self._module = module
        self._results: dict[int, Any] = {}

    def used(self) -> Used:
        return Used(time.process_time_ns(), 0)

    def begin_example(self) -> Record:
        return Record()

    def settle(self) -> None:
        return None

    def execute(self, calls: list[Call], *, echo: bool) -> None:
        """Make the calls; an object of the file's own stays in a table, as it would beside it."""
        for call in calls:
            try:
                value = self._act(call)
            except _Missing:
                call.skipped = True
                continue
            except Exception as error:  # noqa: BLE001 - the suite looks at it
                bases = [_name(base) for base in type(error).__mro__]
                call.error = Where(type(error).__name__, bases, str(error), 0, "")
                continue
            self._results[call.id] = value
            is_plain = isinstance(value, PLAIN) or hasattr(value, "untyped_storage")
            call.value = value if is_plain else Object(call.id, "object")
            if isinstance(value, list):
                call.value = list(value)

    def _act(self, call: Call) -> Any:
        target = self._module if call.target is None else self._found(call.target)
        if call.op == "read":
            return getattr(target, call.name)
        args = [self._held(value) for value in call.args]
        kwargs = {name: self._held(value) for name, value in call.kwargs.items()}
        return getattr(target, call.name)(*args, **kwargs)

    def _held(self, value: Any) -> Any:
        """An argument; a reply stands for what its call gave."""
        asked = getattr(value, "asked", None)
        return self._found(asked) if isinstance(asked, Call) else value

    def _found(self, call: Call) -> Any:
        if call.id not in self._results:
            raise _Missing
        return self._results[call.id]


class _Missing(Exception):
    """A call needs the result of one that raised."""


def _name(base: type) -> str:
    return f"builtins.{base.__name__}" if base.__module__ == "builtins" else base.__name__
