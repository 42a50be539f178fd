"""The judge for an author's own `pytest graders/x.py --submission FILE`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.judge.apart import kept_to_the_seed
from harness.judge.budget import QUICK
from harness.judge.judge import Judge
from harness.judge.round import open_session
from harness.problems import find_problem
from harness.render.terminal import finding_lines
from harness.results import BROKE, NOT_ASSESSED, Check
from harness.sandbox.local import LocalSandbox
from harness.submissions import read_submission


def judge_for(config: pytest.Config, submission: str) -> Judge:
    """A judge on a local worker; the suite's place says which pack and problem it is."""
    suites = [Path(str(argument).split("::")[0]).resolve() for argument in config.args]
    if len(suites) != 1:
        raise pytest.UsageError("--submission goes with one suite: pytest graders/x.py")
    problem = find_problem(suites[0].parent.parent, suites[0].stem)
    path = Path(submission)
    session = open_session(problem, read_submission(path), submission, LocalSandbox())
    config.add_cleanup(session.close)
    apart = ExitStack()
    apart.enter_context(kept_to_the_seed())
    config.add_cleanup(apart.close)
    return Judge(
        session,
        QUICK,
        config.getoption("--round-seed"),
        only=frozenset(),
        call_limit_s=problem.call_limit_s,
        tell=_fail,
    )


def _fail(check: Check) -> None:
    """Let pytest report what broke, in the words of the finding."""
    if check.status == BROKE:
        pytest.fail("\n".join(finding_lines(check)), pytrace=False)
    if check.status == NOT_ASSESSED:
        pytest.skip(check.reason)
