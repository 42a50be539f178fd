"""What must hold for every problem there is, whatever it is about.

A short form of `harness verify`: one seed, some of the wrong answers. The long form is a command.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.authoring.structure import structure
from harness.authoring.wrong import Wrong, read_wrong
from harness.journal import Case
from harness.judge.round import Options, grade_and_keep, open_session
from harness.problems import Problem, all_problems, default_pack
from harness.remote.session import Session, Submission
from harness.render.standalone import standalone
from harness.results import BROKE, HELD, Check, Result
from harness.sandbox.local import LocalSandbox

PROBLEMS = all_problems(default_pack())
WRONG_A_PROBLEM = 6
MOST_CALLS = 8

Graded = dict[str, Session]


@pytest.fixture(scope="module")
def sessions() -> object:
    """One warm worker a problem: all files here are our own."""
    opened: Graded = {}
    yield opened
    for session in opened.values():
        session.close()


def grade(sessions: Graded, problem: Problem, source: bytes, only: str = "") -> Result:
    if problem.slug not in sessions:
        sessions[problem.slug] = open_session(problem, b"", problem.slug, LocalSandbox())
    session = sessions[problem.slug]
    session.take(Submission(problem.slug, source, problem.slug))
    options = Options(only=frozenset({only} if only else ()))
    return grade_and_keep(problem, session, options, backend=LocalSandbox())


def some_wrong(problem: Problem) -> list[Wrong]:
    """Spread over the file, so that different parts of the suite are met."""
    wrong = read_wrong(problem)
    return wrong[:: max(1, len(wrong) // WRONG_A_PROBLEM)][:WRONG_A_PROBLEM]


def not_held(result: Result) -> list[str]:
    return [
        f"{check.id} {check.status} {check.reason} {check.finding}"
        for check in result.checks
        if check.status != HELD and not check.reason.startswith("needs a ")
    ]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.slug)
def test_its_parts_are_there_and_fit_each_other(problem: Problem) -> None:
    assert structure(problem) == []


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.slug)
def test_right_answers_hold_every_check(sessions: Graded, problem: Problem) -> None:
    for path in (problem.reference, *problem.right):
        result = grade(sessions, problem, path.read_bytes())
        assert result.checks, result.could_not_grade
        assert not_held(result) == [], path.name


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.slug)
def test_a_stub_breaks_every_check(sessions: Graded, problem: Problem) -> None:
    result = grade(sessions, problem, problem.stub.read_bytes())
    assert [check.id for check in result.checks if check.status == HELD] == []
    assert result.level == "Strong no hire"


@pytest.mark.parametrize(
    ("problem", "wrong"),
    [(problem, wrong) for problem in PROBLEMS for wrong in some_wrong(problem)],
    ids=lambda value: getattr(value, "slug", None) or value.name,
)
def test_a_wrong_answer_is_caught_and_its_script_shows_it(
    sessions: Graded, problem: Problem, wrong: Wrong, tmp_path: Path
) -> None:
    source = wrong.source(problem.reference.read_text()).encode()
    [check] = grade(sessions, problem, source, wrong.caught_by).checks
    assert check.status == BROKE
    assert check.finding is not None
    assert len(check.finding.script) <= MOST_CALLS, check.finding.script
    seen_from_beside = "triton" in problem.needs  # races and bounds: values alone may look right
    if check.finding.script and not seen_from_beside:
        assert runs_alone(check, problem, source, tmp_path)


def runs_alone(check: Check, problem: Problem, source: bytes, folder: Path) -> bool:
    """Whether the finding's script, beside the candidate's file only, gives what it says."""
    finding = check.finding
    assert finding is not None
    answer = folder / f"{problem.slug}.py"
    answer.write_bytes(source)
    case = Case(check.id, finding.imports, finding.script, finding.wanted, finding.got)
    replay = folder / "replay.py"
    replay.write_text(standalone(case, problem.slug, str(answer)))
    done = subprocess.run(
        [sys.executable, str(replay)], capture_output=True, text=True, check=False, timeout=120
    )
    said = done.stderr.strip().splitlines()[-1:]  # a kernel's interpreter may warn before it
    assert said == ["as it was when the check broke"], done.stdout + done.stderr
    return done.returncode == 1
