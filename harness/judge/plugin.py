"""The pytest plugin: `pytest graders/x.py --submission FILE` grades a file with a suite.

`harness check` registers the same judge on a pytest run of its own. Without `--submission` the
plugin adds an option and does nothing else.
"""

from __future__ import annotations

from typing import Any

import pytest

CANDIDATE = "candidate"


def pytest_addoption(parser: pytest.Parser) -> None:
    """One option, so that an author can run a suite with everything pytest has."""
    group = parser.getgroup("harness", "grading a submission with a suite")
    group.addoption("--submission", metavar="FILE", help="the candidate's file to grade")
    group.addoption("--round-seed", type=int, default=0, help="the seed of the examples")


def pytest_configure(config: pytest.Config) -> None:
    """Bring in the judge where a submission is named and none is there yet."""
    path = config.getoption("--submission", default=None)
    if path and not config.pluginmanager.has_plugin("harness-judge"):
        from harness.judge.author import judge_for

        config.pluginmanager.register(judge_for(config, path), "harness-judge")


@pytest.fixture
def candidate(request: pytest.FixtureRequest) -> Any:
    """The submission under test, in a process of its own."""
    judge = request.config.pluginmanager.get_plugin("harness-judge")
    if judge is None:
        raise pytest.UsageError("no submission to grade: add --submission FILE")
    return judge.candidate
