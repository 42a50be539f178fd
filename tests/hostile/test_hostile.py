"""Every attack of the table: its named fault at its call, everything else held, nothing left."""

from __future__ import annotations

import re
import resource
import time
from collections.abc import Iterator

import pytest

from harness.remote import session as session_module
from harness.results import BROKE, HELD
from harness.sandbox.base import Sandbox
from harness.sandbox.docker import DockerSandbox
from harness.sandbox.local import LocalSandbox
from tests.hostile.attacks import ATTACKS, SUBMISSIONS, Attack
from tests.hostile.grading import Grader, grader_of
from tests.hostile.reports import complaints
from tests.sandbox.conftest import LEFTOVER, left_behind, processes_here

BOXES: dict[str, type[Sandbox]] = {"local": LocalSandbox, "docker": DockerSandbox}
LONGEST_S = 20.0
JUDGE_MIB = 1024  # that the judge may grow by: torch, and twice the room for answers
SETTLING_S = 5.0

Graders = dict[str, Grader]


@pytest.fixture(scope="module", params=BOXES)
def graders(request: pytest.FixtureRequest) -> Iterator[tuple[str, Graders]]:
    """One warm sandbox of a kind for each of the two problems, and nothing of them afterwards."""
    before, memory_before = left_behind(), peak_mib()
    box = BOXES[request.param]()
    with pytest.MonkeyPatch.context() as patch, grader_of(box, "tally") as tally:
        patch.setattr(session_module, "IMPORT_LIMIT_S", 1.0)
        patch.setenv("HARNESS_TEST_SECRET", "in the judge's environment")
        with grader_of(box, "twice") as twice:
            yield request.param, {"tally": tally, "twice": twice}
    deadline = time.monotonic() + SETTLING_S
    while left_behind() != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left_behind() == before
    assert peak_mib() - memory_before < JUDGE_MIB


def peak_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_an_attack_has_its_name_and_gains_nothing(
    attack: Attack, graders: tuple[str, Graders]
) -> None:
    backend, by_problem = graders
    if backend not in attack.backends:
        return  # the table says why: it would reach the machine itself
    started = time.monotonic()
    result = by_problem[attack.problem].grade(attack.source())

    assert not result.could_not_grade
    assert {check.id for check in result.checks if check.status == BROKE} == attack.breaks
    assert {check.status for check in result.checks} <= {HELD, BROKE}
    for check in result.checks:
        if check.status == BROKE:
            assert check.finding is not None
            assert check.finding.fault in attack.faults
            assert re.search(attack.got, check.finding.got), check.finding.got
            assert "".join(check.finding.script[-1:]).startswith(attack.at)
    assert result.level == attack.level
    assert complaints(result) == []
    assert not any(LEFTOVER in process for process in processes_here())
    assert time.monotonic() - started < LONGEST_S


def test_every_submission_has_its_line_in_the_table_and_there_are_many() -> None:
    named = {attack.name for attack in ATTACKS}
    assert named == {path.stem for path in SUBMISSIONS.glob("*.py")}
    assert len(named) == len(ATTACKS) > 100
