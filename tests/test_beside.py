"""Examples drawn by a second process while checks run: the same ones, and never waited for."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import msgspec
import pytest

from harness.authoring.wrong import read_wrong
from harness.judge.ahead import examples_of
from harness.judge.beside import Beside
from harness.judge.budget import QUICK
from harness.judge.examples import run_examples
from harness.judge.round import Options, grade, open_session
from harness.judge.run import pytest_arguments
from harness.problems import Problem, default_pack, find_problem
from harness.results import Result
from harness.sandbox.local import LocalSandbox
from harness.suite.claims import ATTRIBUTE


class Looks:
    """Stands where a judge does: prepares the checks, and asks for the last one's examples."""

    def __init__(self, beside: Beside) -> None:
        self.beside = beside
        self.drawn: object = None
        self.wanted: object = None
        self.lost: object = "not asked"

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        items[:] = [item for item in items if hasattr(item.obj, "hypothesis")]
        for item in items:
            run_examples(item.obj, getattr(item.obj, ATTRIBUTE), QUICK, 1)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        last = session.items[-1]
        assert isinstance(last, pytest.Function)
        assert self.beside._hears.poll(60)
        self.drawn = self.beside.get(getattr(last.obj, ATTRIBUTE).id)
        self.wanted = examples_of(last.obj)
        os.kill(self.beside._pid, signal.SIGKILL)
        self.lost = self.beside.get("of another suite")
        session.items.clear()


@pytest.mark.parametrize("slug", ["paged_allocator", "rope"])
def test_they_are_the_ones_the_judge_would_draw(slug: str) -> None:
    beside = Beside()
    looks = Looks(beside)
    pytest.main(pytest_arguments(find_problem(default_pack(), slug)), plugins=[looks, beside])
    beside.end()
    assert looks.wanted
    assert repr(looks.drawn) == repr(looks.wanted)
    assert looks.lost is None
    with pytest.raises(ChildProcessError):
        os.waitpid(beside._pid, os.WNOHANG)


@pytest.mark.parametrize("wrong", ["", "no_copy_on_write", "zero_tokens_refused"])
def test_a_result_is_the_same_with_and_without(wrong: str) -> None:
    problem = find_problem(default_pack(), "paged_allocator")
    source = problem.reference.read_text()
    for each in read_wrong(problem):
        source = each.source(source) if each.name == wrong else source
    with_it, without = (told(problem, source, beside=yes) for yes in (True, False))
    assert with_it == without


def told(problem: Problem, source: str, *, beside: bool) -> Result:
    session = open_session(problem, source.encode(), str(Path("a.py")), LocalSandbox())
    result = grade(problem, session, Options(draws_beside=beside), backend=LocalSandbox())
    checks = [msgspec.structs.replace(check, seconds=0.0) for check in result.checks]
    run = msgspec.structs.replace(result.run, seconds=0.0, started="")
    return msgspec.structs.replace(result, checks=checks, run=run)
