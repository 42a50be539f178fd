"""What runs a candidate's own tests, in the worker: its text crosses as if it were the submission.

The judge adds the line `GIVEN = {...}`. What is returned is the tests' claim; nothing is decided
here. The file under test is imported by the tests under the problem's name, as it is in life.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

GIVEN: dict[str, Any] = {}
MOST_TESTS = 500
OPTIONS = ("-q", "--tb=no", "--no-header", "-p", "no:cacheprovider", "-p", "no:harness",
           "-p", "_hypothesis_pytestplugin", "--hypothesis-seed=0")  # fmt: skip


class Outcomes:
    """A pytest plugin: how each test ended, by name; only the names asked for, when some are."""

    def __init__(self, only: list[str] | None) -> None:
        self.only = only
        self.ended: dict[str, str] = {}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.only is not None:
            items[:] = [item for item in items if item.nodeid in self.only]

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.ended[report.nodeid] = "failed"

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed or report.nodeid not in self.ended:
            self.ended[report.nodeid] = report.outcome
        elif report.skipped and self.ended[report.nodeid] == "passed":
            self.ended[report.nodeid] = "skipped"


def outcomes() -> list[list[str]]:
    """Pairs of a test's name and how it ended: "passed", "failed" or "skipped"."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import pytest

    folder = Path(__file__).parent
    (folder / f"{GIVEN['name']}.py").write_bytes(GIVEN["answer"])
    (folder / "test_own.py").write_bytes(GIVEN["tests"])
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    plugin = Outcomes(GIVEN["only"])
    stop = ["-x"] if GIVEN["only"] is not None else []
    pytest.main([*OPTIONS, *stop, "-c", "pytest.ini", "test_own.py"], plugins=[plugin])
    return [[name, ended] for name, ended in plugin.ended.items()][:MOST_TESTS]
