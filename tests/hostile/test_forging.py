"""Ways to a better level than the answers deserve that were tried, and what became of each."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from textwrap import dedent
from typing import Any

import pytest
import torch

from harness.judge import limits
from harness.remote.session import Session, Submission
from harness.results import BROKE, HELD, NOT_ASSESSED
from harness.sandbox.base import CannotStart, Running, Sandbox, Spec
from harness.sandbox.docker import DockerSandbox
from harness.sandbox.local import LocalSandbox
from harness.suite.candidate import Candidate
from tests.hostile.attacks import HERE, SUM, Attack
from tests.hostile.grading import BUDGET, OPTIONS, grader_of

BACKENDS = [LocalSandbox, DockerSandbox]
BUSY_NS = 150_000_000
BUSY = f"""
import os, signal, time
def busy():
    end = time.process_time_ns() + {BUSY_NS}
    while time.process_time_ns() < end:
        pass
"""


def source_of(more: str) -> bytes:
    """A right answer with something of one's own behind it."""
    reference = HERE / "pack" / "solutions" / "tally" / "reference.py"
    return (reference.read_text() + dedent(more)).encode()


@pytest.fixture(params=BACKENDS, ids=["local", "docker"])
def box(request: pytest.FixtureRequest) -> Sandbox:
    return request.param()  # type: ignore[no-any-return]


def called(box: Sandbox, source: str, **wanted: Any) -> Any:
    """What `f()` of a file answers."""
    session = Session(box, Spec(**wanted), Submission("answer", source.encode(), "answer.py"))
    try:
        return Candidate(session).f()
    finally:
        session.close()


# using the time up, so that what is wrong is never looked at


SLEEPS = """
import time
def slow(function):
    def later(*given):
        time.sleep(0.4)
        return function(*given)
    return later
total, Tally.add = slow(total), slow(Tally.add)
"""


def test_answers_that_use_the_time_up_break_what_had_none_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "TIMES_THE_REFERENCE", 1)
    options = replace(OPTIONS, budget=replace(BUDGET, run_s=2.0))
    with grader_of(LocalSandbox(), "tally") as grader:
        result = grader.grade(source_of(SLEEPS), options)
    out_of_time = [c for c in result.checks if c.finding and "time was used up" in c.finding.got]
    assert len(out_of_time) >= 3
    assert {check.status for check in out_of_time} == {BROKE}
    assert {check.finding.fault for check in out_of_time if check.finding} == {"hung"}
    assert result.level == "Strong no hire"


def test_a_machine_too_slow_for_the_reference_is_no_mark_against_anybody(tmp_path: Path) -> None:
    pack = tmp_path / "pack"
    copytree(HERE / "pack", pack)
    (pack / "solutions" / "tally" / "reference.py").write_bytes(source_of(SLEEPS))
    options = replace(OPTIONS, budget=replace(BUDGET, run_s=2.0))
    with grader_of(LocalSandbox(), "tally", pack) as grader:
        result = grader.grade(source_of(SLEEPS), options)
    statuses = [check.status for check in result.checks]
    assert BROKE not in statuses
    assert statuses.count(NOT_ASSESSED) >= 3
    assert result.level in ("Hire", "No signal")


SLEEPS_LONGER = SLEEPS.replace("0.4", "1.3")  # the limit of a call is 1 s there


def test_a_call_may_take_ten_times_what_the_reference_takes_on_this_machine(
    tmp_path: Path,
) -> None:
    pack = tmp_path / "pack"
    copytree(HERE / "pack", pack)
    reference = pack / "solutions" / "tally" / "reference.py"
    reference.write_bytes(source_of(SLEEPS_LONGER.replace("1.3", "0.6")))
    options = replace(OPTIONS, only=frozenset([SUM]))
    with grader_of(LocalSandbox(), "tally", pack) as grader:
        result = grader.grade(source_of(SLEEPS_LONGER), options)
    assert [check.status for check in result.checks] == [HELD]
    assert result.level == "Strong hire"
    assert 6 <= result.run.limits["call_s"] < 10


def test_a_hang_beside_a_quick_reference_breaks_at_the_floor() -> None:
    options = replace(OPTIONS, only=frozenset([SUM]))
    with grader_of(LocalSandbox(), "tally") as grader:
        result = grader.grade(source_of(SLEEPS_LONGER), options)
    assert [check.finding.fault for check in result.checks if check.finding] == ["hung"]
    assert result.run.limits["call_s"] == 1.0


# taking the machinery away once something was seen to be wrong


class LostAfter:
    """A sandbox whose keeper is gone after so many starts."""

    name = "lost"
    image = ""

    def __init__(self, starts: int) -> None:
        self._left = starts

    def start(self, spec: Spec) -> Running:
        if not self._left:
            raise CannotStart("the engine is gone", "start it again")
        self._left -= 1
        return LocalSandbox().start(spec)

    def describe(self) -> str:
        return "a sandbox that is lost"


def test_a_sandbox_that_is_lost_after_a_wrong_answer_makes_it_no_better() -> None:
    attack = Attack("says_loaded")  # the protocol is broken: its sandbox is ended
    with grader_of(LostAfter(1), "tally") as grader:
        result = grader.grade(attack.source())
    by_id = {check.id: check for check in result.checks}
    assert by_id[SUM].status == BROKE
    assert {check.status for check in result.checks if check.id != SUM} == {NOT_ASSESSED}
    assert (result.level, result.could_not_grade) == ("No hire", "the engine is gone")


TAKES_ITS_SANDBOX_DOWN = """
import os, signal, time
answered = 0
def total(numbers):
    global answered
    if os.path.exists({mark!r}):
        return sum(numbers)
    if answered:
        open({mark!r}, "w").close()
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    answered += 1
    return sum(numbers) + 1
"""


def test_a_sandbox_taken_down_after_a_wrong_answer_is_not_tried_again(tmp_path: Path) -> None:
    source = source_of(TAKES_ITS_SANDBOX_DOWN.format(mark=str(tmp_path / "answered")))
    with grader_of(LocalSandbox(), "tally") as grader:
        result = grader.grade(source, replace(OPTIONS, only=frozenset([SUM])))
    assert [check.status for check in result.checks] == [BROKE]


def test_a_sandbox_that_is_lost_before_an_answer_is_no_signal() -> None:
    with grader_of(LostAfter(0), "tally") as grader:
        result = grader.grade(source_of(""))
    assert {check.status for check in result.checks} == {NOT_ASSESSED}
    assert (result.level, result.could_not_grade) == ("No signal", "the engine is gone")


# doing the work where it is not measured


HELPERS = {
    "itself": "def f():\n    busy()",
    "a helper": "def f():\n    if os.fork() == 0:\n        busy(); os._exit(0)\n    os.wait()",
    "a helper of a helper": """
def f():
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid(); busy(); open("done", "w").close(); time.sleep(9)
        os._exit(0)
    os.wait()
    while not os.path.exists("done"): time.sleep(0.01)
""",
}


@pytest.mark.parametrize("who", HELPERS)
def test_work_counts_whoever_does_it(box: Sandbox, who: str) -> None:
    source = BUSY + HELPERS[who] + "\ndef ok(): pass\n"
    session = Session(box, Spec(), Submission("answer", source.encode(), "answer.py"))
    candidate = Candidate(session)
    candidate.ok()
    before = candidate.used().cpu_ns
    candidate.f()
    spent = candidate.used().cpu_ns - before
    session.close()
    assert spent > 0.9 * BUSY_NS


def test_in_a_container_work_counts_that_nobody_waited_for() -> None:
    source = (
        BUSY
        + """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
def ok(): pass
def f():
    ours, theirs = os.pipe()
    if os.fork() == 0:
        busy(); os._exit(0)
    os.close(theirs); os.read(ours, 1)
"""
    )
    session = Session(DockerSandbox(), Spec(), Submission("answer", source.encode(), "answer.py"))
    candidate = Candidate(session)
    candidate.ok()
    before = candidate.used().cpu_ns
    candidate.f()
    spent = candidate.used().cpu_ns - before
    session.close()
    assert spent > 0.9 * BUSY_NS


def test_in_a_container_the_peak_of_memory_cannot_be_reset() -> None:
    source = """
def f():
    kept = bytearray(100 << 20); del kept
    import ctypes
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
    ctypes.CDLL(None).syscall(157, ctypes.c_long(0x100000004), 1, 0, 0, 0)
    try:
        open("/proc/self/clear_refs", "w").write("5")
    except OSError:
        pass
"""
    session = Session(DockerSandbox(), Spec(), Submission("answer", source.encode(), "answer.py"))
    candidate = Candidate(session)
    candidate.f()
    peak = candidate.used().peak_bytes
    session.close()
    assert peak > 100 << 20


def test_memory_of_a_helper_counts_while_it_lives(box: Sandbox) -> None:
    source = """
import os, time
def f():
    if os.fork() == 0:
        kept = bytearray(100 << 20); open("done", "w").close(); time.sleep(9)
    while not os.path.exists("done"): time.sleep(0.01)
"""
    session = Session(box, Spec(), Submission("answer", source.encode(), "answer.py"))
    candidate = Candidate(session)
    candidate.f()
    peak = candidate.used().peak_bytes
    session.close()
    assert peak > 100 << 20


NAMES = {
    "a smaller peak behind a form feed": b"\x0cVmHWM: 1 kB",
    "a smaller peak behind a line separator": b"\xe2\x80\xa8VmHWM: 1 kB",
    "a newline": b"\nVmHWM: 1 kB",
    "no text": b"\xff) S 0 0",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_process_cannot_say_in_its_name_what_it_used(box: Sandbox, name: str) -> None:
    source = f"""
import ctypes
def f():
    kept = bytearray(100 << 20)
    ctypes.CDLL(None).prctl(15, {NAMES[name]!r}, 0, 0, 0)
    return len(kept)
"""
    session = Session(box, Spec(), Submission("answer", source.encode(), "answer.py"))
    candidate = Candidate(session)
    candidate.f()
    peak = candidate.used().peak_bytes
    session.close()
    assert peak > 100 << 20


# knowing more than the calls


LOOKS = """
import importlib, os
def f():
    found = []
    for path in PLACES:
        for folder, _, names in os.walk(path):
            if folder == "/":
                continue
            found += [name for name in names if name == "tally.py" and "graders" in folder]
    for module in ("harness.judge.judge", "harness.suite", "harness.own_tests"):
        try:
            importlib.import_module(module)
            found.append(module)
        except ImportError:
            pass
    return sorted(found)
"""


def test_in_a_container_there_is_no_suite_and_no_judge_to_read() -> None:
    assert called(DockerSandbox(), f"PLACES = {[str(HERE), '/']!r}" + LOOKS) == []


def test_a_local_worker_can_read_the_suite_and_the_report_says_what_that_means() -> None:
    assert "tally.py" in called(LocalSandbox(), f"PLACES = {[str(HERE)]!r}" + LOOKS)
    with grader_of(LocalSandbox(), "tally") as grader:
        result = grader.grade(source_of(""))
    assert result.run.isolation.endswith("; practice, not isolated")


# an echo is the worker's word; the same tensor in two calls is not


LIES = """
import torch
def twice(x):
    x *= 2
    return x.clone()
from harness.worker.child import Child
after = Child._after
def lie(self, args, kwargs, outgoing):
    changed = args[0].clone()
    args[0].fill_(1.0)
    answer = after(self, args, kwargs, outgoing)
    args[0].copy_(changed)
    return answer
Child._after = lie
"""


def test_a_worker_can_hide_from_the_echo_that_it_changed_a_tensor_but_not_from_the_next_call() -> (
    None
):
    session = Session(
        LocalSandbox(), Spec(preload=("torch",)), Submission("twice", LIES.encode(), "twice.py")
    )
    candidate = Candidate(session)
    program = candidate.program()
    x = torch.tensor([1.0])
    first, second = program.twice(x), program.twice(x)
    program.run()
    session.close()
    assert candidate.changed_arguments == []  # SECURITY.md says so
    assert (first.value.item(), second.value.item()) == (2.0, 4.0)


def test_time_passes_on_the_judges_clock_alone(box: Sandbox) -> None:
    source = """
import time
time.monotonic = time.time = lambda: 0.0
def f():
    while True: pass
"""
    session = Session(box, Spec(), Submission("answer", source.encode(), "answer.py"))
    started = time.monotonic()
    with pytest.raises(Exception, match=r"no answer within 0\.5 s"):
        Candidate(session, call_limit_s=0.5).f()
    session.close()
    assert time.monotonic() - started < 20
