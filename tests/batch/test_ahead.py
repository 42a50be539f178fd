"""Examples drawn once a round change no result: it is the one that `harness check` gives."""

from __future__ import annotations

import dataclasses
import json
import random
import sys
from pathlib import Path

import msgspec
import pytest

from harness.batch.entries import Entry
from harness.batch.judges import run_all
from harness.batch.run import Job, draw_all_ahead
from harness.batch.store import Round
from harness.judge import limits
from harness.judge.ahead import draw_ahead
from harness.judge.budget import BUDGETS
from harness.judge.round import Options, grade_and_keep, open_session
from harness.problems import Problem, find_problem
from harness.remote.session import Submission
from harness.results import Result, to_json
from harness.sandbox.local import LocalSandbox
from tests.test_determinism import comparable

PACK = Path(__file__).parents[1] / "hostile" / "pack"
RIGHT = (PACK / "solutions" / "tally" / "reference.py").read_text()
SUBMISSIONS = {
    "right": RIGHT,
    "wrong": RIGHT.replace("sum(numbers)", "sum(numbers) - (len(numbers) > 2)"),
    "raises": RIGHT.replace("sum(numbers)", "sum(numbers) // (len(numbers) < 3)"),
    "dies": RIGHT.replace("sum(numbers)", "sum(numbers) if len(numbers) < 3 else exit(3)"),
    "broken": "def total(:\n",
}
GIVES_WAY = """\
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.suite import behaviour, edge, equal, invariant


@invariant("R1", why="w", ask="a")
@given(st.integers(0, 99))
def test_some_are_assumed_away(candidate, by):
    \"\"\"some are assumed away\"\"\"
    assume(by % 3)
    equal(candidate.Counter(3).up(by), 3 + by)


@behaviour("R1", why="w", ask="a")
@given(st.data())
def test_some_are_drawn_later(candidate, data):
    \"\"\"some are drawn later\"\"\"
    start = data.draw(st.integers(0, 9))
    equal(candidate.Counter(start).up(data.draw(st.integers(0, start))) >= start, True)


@edge("R2", why="w", ask="a")
@given(st.lists(st.integers(0, 9)))
def test_what_is_drawn_is_used_up(candidate, numbers):
    \"\"\"what is drawn is used up\"\"\"
    wanted = sum(numbers)
    counter = candidate.Counter(0)
    while numbers:
        counter.up(numbers.pop())
    equal(counter.up(0), wanted)
"""


def graded(problem: Problem, sources: dict[str, str], *, ahead: bool) -> dict[str, str]:
    """The results without times, by candidate."""
    settings, box = Round(7, "quick", "local", "cpu"), LocalSandbox()
    jobs = [
        Job(Entry(name, problem.slug, "a.py", source.encode()), problem, settings, box, None)
        for name, source in sources.items()
    ]
    sys.modules.pop(problem.slug, None)  # a suite of that name, from a pack of another test
    drawn = draw_all_ahead(jobs) if ahead else None
    return {
        stored.candidate: comparable(json.loads(to_json(stored.result)))
        for stored in run_all(jobs, 2, ahead=drawn)
    }


def test_results_are_those_of_a_check_in_any_order() -> None:
    problem = find_problem(PACK, "tally")
    names = list(SUBMISSIONS)
    random.Random(3).shuffle(names)
    shuffled = {name: SUBMISSIONS[name] for name in names}
    plain = graded(problem, SUBMISSIONS, ahead=False)
    assert plain.keys() == SUBMISSIONS.keys()
    assert graded(problem, shuffled, ahead=True) == plain


@pytest.mark.parametrize("mistake", ["count += by", "count += by + (by > 8)"])
def test_checks_that_look_at_their_candidate_first_are_left_to_hypothesis(
    tmp_path: Path, mistake: str
) -> None:
    from tests.packs import REFERENCE, make_pack

    pack = make_pack(tmp_path)
    (pack / "graders" / "counter.py").write_text(GIVES_WAY)
    problem = find_problem(pack, "counter")
    sources = {"ada": REFERENCE.replace("count += by", mistake)}
    plain = graded(problem, sources, ahead=False)
    assert graded(problem, sources, ahead=True) == plain


def test_one_process_uses_them_again_and_again(tmp_path: Path) -> None:
    from tests.packs import REFERENCE, make_pack

    pack = make_pack(tmp_path)
    (pack / "graders" / "counter.py").write_text(GIVES_WAY)
    problem, box = find_problem(pack, "counter"), LocalSandbox()
    sources = {"right": REFERENCE, "wrong": REFERENCE.replace("count += by", "count += by > 3")}
    plain = graded(problem, sources, ahead=False)
    sys.modules.pop(problem.slug, None)
    ahead = draw_ahead(problem, Options(7))
    session = open_session(problem, b"", "a.py", box)
    for name in ("right", "wrong", "right", "wrong"):
        session.take(Submission(problem.slug, sources[name].encode(), "a.py"))
        options = Options(7, ahead=ahead.again())
        result = grade_and_keep(problem, session, options, backend=box)
        crossed = msgspec.msgpack.decode(msgspec.msgpack.encode(result), type=Result)
        assert comparable(json.loads(to_json(crossed))) == plain[name]
    session.close()


def test_being_stopped_while_they_are_drawn_is_being_stopped(tmp_path: Path) -> None:
    from tests.packs import make_pack

    pack = make_pack(tmp_path)
    stops = GIVES_WAY.replace("st.integers(0, 99)", "st.integers(0, 99).map(_stop)")
    stops += "\n\ndef _stop(_):\n    raise KeyboardInterrupt\n"
    (pack / "graders" / "counter.py").write_text(stops)
    sys.modules.pop("counter", None)
    with pytest.raises(KeyboardInterrupt):
        draw_ahead(find_problem(pack, "counter"), Options(7))


def test_answers_that_are_slow_the_first_time_alone_bend_no_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.packs import make_pack

    checks = (
        f'@edge("R2", why="w", ask="a")\n@given(st.just({n}))\n'
        f"def test_it_counts_to_{n}(candidate, by):\n"
        f'    """it counts to {n}"""\n    equal(candidate.Counter(0).up(by), by)\n\n\n'
        for n in range(1, 5)
    )
    pack = make_pack(tmp_path / "pack")
    (pack / "graders" / "counter.py").write_text(
        GIVES_WAY.partition("@invariant")[0] + "".join(checks)
    )
    monkeypatch.setattr(limits, "TIMES_THE_REFERENCE", 0)
    short = dataclasses.replace(BUDGETS["quick"], run_s=3.0, shrink=False)
    monkeypatch.setitem(BUDGETS, "quick", short)
    slow = f"""
import pathlib, time
class Counter:
    def __init__(self, start):
        pass
    def up(self, by):
        flag = pathlib.Path({str(tmp_path)!r}) / f"seen{{by}}"
        if not flag.exists():
            flag.touch()
            time.sleep(2)
        return -1
"""
    [result] = graded(find_problem(pack, "counter"), {"ada": slow}, ahead=True).values()
    got = [check["finding"]["got"] for check in json.loads(result)["checks"]]
    assert (got[0], len(got)) == ("-1", 4)
    assert "the time was used up" in got[-1]


def test_what_breaks_once_and_holds_the_second_time_is_broken(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    once = RIGHT.replace(
        "sum(numbers)",
        f"sum(numbers) + (len(numbers) > 2 and (lambda p: not p.exists() and not p.touch())"
        f"(__import__('pathlib').Path({str(flag)!r})))",
    )
    [result] = graded(find_problem(PACK, "tally"), {"ada": once}, ahead=True).values()
    broken = [check["id"] for check in json.loads(result)["checks"] if check["status"] == "broke"]
    assert broken == ["total-is-the-sum"]
