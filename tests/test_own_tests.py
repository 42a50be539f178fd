"""A candidate's own tests: counted against right and wrong answers, and never believed further."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import harness
from harness.own_tests.judged import Given, judge_tests
from harness.problems import find_problem
from harness.results import OwnTests
from harness.sandbox.docker import DockerSandbox
from harness.sandbox.local import LocalSandbox
from tests.packs import REFERENCE, make_pack

WRONG = """\
[[wrong]]
name = "adds_one_more"
caught_by = "it-adds"
mistake = "off by one"
edits = [{ find = "+= by", replace = "+= by + 1" }]

[[wrong]]
name = "counts_down"
caught_by = "it-refuses-to-go-down"
mistake = "it refuses nothing"
edits = [{ find = "by < 0", replace = "False" }]

[[wrong]]
name = "never_ends"
caught_by = "it-adds"
mistake = "it hangs"
edits = [{ find = "self.count += by", replace = "while True: pass" }]
"""
RIGHT = "class Counter:\n" + REFERENCE.partition("\n")[2].replace("count", "total")
HEAD = "import os, sys, time, pytest\nfrom counter import Counter\n"
ADDS = "def test_adds(): assert Counter(1).up(2) == 3\n"
REFUSES = "def test_refuses():\n    with pytest.raises(ValueError): Counter(1).up(-1)\n"
LOOKS_INSIDE = "def test_looks_inside(): assert Counter(1).count == 1\n"


@pytest.fixture
def counter(tmp_path):
    """The problem of three lines, with three wrong answers and a second right one."""
    pack = make_pack(tmp_path / "pack")
    (pack / "solutions/counter/wrong.toml").write_text(WRONG, encoding="utf-8")
    (pack / "solutions/counter/right").mkdir()
    (pack / "solutions/counter/right/total.py").write_text(RIGHT, encoding="utf-8")
    return find_problem(pack, "counter")


@pytest.fixture
def seen_by(counter):
    """What tests see, on the local backend unless another is given."""

    def judged(tests: str, own: str = REFERENCE, sandbox=None, **more) -> OwnTests:
        files = Given("test_mine.py", (HEAD + tests).encode(), own.encode())
        settings = {"seed": 1, "whole": True, "run_s": 60.0} | more
        return judge_tests(counter, files, sandbox or LocalSandbox(), **settings)

    return judged


def counts(seen: OwnTests) -> tuple[int, int, int, list[str]]:
    return seen.tests, seen.caught, seen.mistakes, seen.refuses


def test_tests_catch_what_fails_hangs_or_refuses_nothing(seen_by):
    seen = seen_by(ADDS + REFUSES)
    assert (counts(seen), seen.of, seen.fails, seen.flaky, seen.note) == (
        (2, 3, 3, []), 3, [], False, "",
    )  # fmt: skip


def test_tests_that_look_at_one_side_catch_that_side(seen_by):
    assert counts(seen_by(REFUSES)) == (1, 1, 3, [])


def test_a_test_that_rejects_a_right_answer_is_named_and_catches_nothing(seen_by):
    assert counts(seen_by(LOOKS_INSIDE)) == (1, 0, 3, ["total.py"])


def test_the_sound_tests_of_a_file_still_count(seen_by):
    assert counts(seen_by(LOOKS_INSIDE + REFUSES)) == (2, 1, 3, ["total.py"])


def test_a_failure_on_the_file_itself_is_named(seen_by):
    own = REFERENCE.replace("+= by", "+= 2 * by")
    assert seen_by(ADDS + REFUSES, own).fails == ["test_adds"]


NOTHING = {
    "no tests": ("x = 1\n", "no tests were found in it"),
    "not Python": ("def (\n", "they cannot be collected; they import from counter, as in "
                   "`from counter import ...`"),
    "another module": ("import countre\n", "they cannot be collected; they import from counter, "
                       "as in `from counter import ...`"),
    "exit": ("os._exit(0)\n", "on a right answer, they ended the process"),
    "exit in a test": ("def test_it(): os._exit(0)\n", "on a right answer, they ended the process"),
    "prints results": ("print('9 passed')\n", "no tests were found in it"),
}  # fmt: skip


@pytest.mark.parametrize(("tests", "note"), NOTHING.values(), ids=NOTHING)
def test_where_nothing_can_be_counted_the_reason_is_given(seen_by, tests, note):
    seen = seen_by(tests)
    assert (counts(seen), seen.note) == ((0, 0, 0, []), note)


def test_a_claim_that_everything_fails_is_held_against_right_answers(seen_by):
    forge = "import gc\n@pytest.fixture(autouse=True)\ndef forge():\n    yield\n"
    forge += "    found = [it for it in gc.get_objects() if type(it).__name__ == 'Outcomes']\n"
    forge += "    found[0].ended = {'x': 'failed'}\n"
    seen = seen_by(forge + ADDS)
    assert seen.refuses == ["the reference", "total.py"]
    assert seen.caught == 1  # the wrong answer that hangs, under a test that ends elsewhere


def test_failing_from_some_run_on_catches_nothing(seen_by, tmp_path):
    """Right answers stand among the wrong ones, where nobody can count on."""
    counting = f"""
def test_it():
    with open({str(tmp_path / "runs")!r}, "a+") as file:
        file.write("x")
        file.seek(0)
        assert len(file.read()) < 5
"""
    seen = seen_by(counting)
    assert (seen.caught, seen.mistakes, seen.refuses, seen.flaky) == (0, 3, [], True)


def test_ending_the_process_from_some_run_on_catches_nothing(seen_by, tmp_path):
    counting = f"""
def test_it():
    with open({str(tmp_path / "runs")!r}, "a+") as file:
        file.write("x")
        file.seek(0)
        if len(file.read()) > 4:
            os._exit(0)
"""
    seen = seen_by(counting)
    assert (seen.caught, seen.refuses, seen.flaky) == (0, [], True)


def test_writing_to_the_judge_in_pytests_place_counts_nothing(seen_by):
    writes = "def test_it():\n    for fd in range(3, 64):\n        try: os.write(fd, b'x' * 999)\n"
    seen = seen_by(writes + "        except OSError: pass\n")
    assert (seen.caught, seen.note) == (0, "on a right answer, they answered in pytest's place")


def test_tests_of_two_minds_are_said_to_be(seen_by):
    flips = "".join(f"def test_{n}(): assert os.urandom(1)[0] % 2\n" for n in range(30))
    assert seen_by(flips).flaky


def test_a_sample_follows_the_seed_and_says_of_how_many(counter):
    one = WRONG.partition("\n\n")[0] + "\n\n"
    many = "".join(one.replace("adds_one_more", f"w{number}") for number in range(24))
    counter.wrong.write_text(many, encoding="utf-8")
    files = Given("t.py", (HEAD + ADDS).encode(), REFERENCE.encode())
    seen = judge_tests(counter, files, LocalSandbox(), seed=1, whole=False, run_s=60.0)
    assert (counts(seen), seen.of) == ((1, 20, 20, []), 24)


def test_names_of_tests_are_shown_plain_and_short(seen_by):
    tests = "@pytest.mark.parametrize('x', [1], ids=['\\x1b[31m<script>' + 'a' * 300])\n"
    (name,) = seen_by(tests + "def test_it(x): assert False\n").fails
    assert "\x1b" not in name and len(name) <= 100


def test_what_was_seen_on_a_wrong_answer_is_in_no_name(seen_by):
    """Test names of the run on the own file alone are shown, and it comes before all others."""
    leak = "@pytest.mark.parametrize('x', [0], ids=[open('counter.py').read()])\n"
    seen = seen_by(leak + "def test_it(x): assert False\n", own="class Counter: own = 1\n")
    assert [name.startswith("test_it[class Counter: own = 1") for name in seen.fails] == [True]


def test_the_same_counts_come_from_docker(seen_by):
    seen = seen_by(ADDS + REFUSES, sandbox=DockerSandbox())
    assert (counts(seen), seen.note) == ((2, 3, 3, []), "")


def test_the_command_prints_the_line_and_the_level_stays(counter, tmp_path):
    (tmp_path / "test_mine.py").write_text(HEAD + ADDS + REFUSES, encoding="utf-8")
    (tmp_path / "counter.py").write_text(REFERENCE, encoding="utf-8")
    out = tmp_path / "result.json"
    run = CliRunner().invoke(harness, [
        "--pack", str(counter.pack), "check", "counter", str(tmp_path / "counter.py"),
        "--backend", "local", "--tests", str(tmp_path / "test_mine.py"), "--json", str(out),
    ])  # fmt: skip
    assert run.exit_code == 0, run.output
    line = "  own tests: 2 tests; they catch 3 of 3 wrong answers; they reject no right one"
    assert line in run.output.splitlines()
    document = json.loads(out.read_text(encoding="utf-8"))
    assert (document["level"], document["own_tests"]["caught"]) == ("Strong hire", 3)


def test_tests_that_are_no_file_are_refused(counter):
    run = CliRunner().invoke(harness, ["--pack", str(counter.pack), "check", "counter",
                                    str(counter.reference), "--tests", "nowhere.py"])  # fmt: skip
    assert (run.exit_code, "nowhere.py does not exist" in run.output) == (2, True)


def test_the_runner_is_shipped_as_text():
    from importlib.resources import files

    assert "def outcomes" in Path(str(files("harness.own_tests") / "runner.py")).read_text()
