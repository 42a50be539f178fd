"""Which files answer a problem, and what `solutions.toml` may name."""

from __future__ import annotations

import pytest

from harness.branch.answers import BadList, among, listed
from harness.branch.changes import LINK, SUBMODULE, Changed
from harness.problems import all_problems
from tests.packs import make_pack

FILE = "100644"


@pytest.fixture
def problems(tmp_path):
    return all_problems(make_pack(tmp_path / "pack"))


@pytest.mark.parametrize("path", ["counter.py", "ada/counter.py", "counter/solution.py"])
def test_a_file_with_the_problems_name_is_an_answer(problems, path):
    found = among([Changed(path, FILE)], problems)
    assert [(answer.problem.slug, answer.path) for answer in found.answers] == [("counter", path)]
    assert found.passed_over == []


@pytest.mark.parametrize(
    "path",
    ["counter.md", "rope.py", "solution.py", "counter/notes.py", "test_counter.py", "counter"],
)
def test_other_files_are_no_answers(problems, path):
    found = among([Changed(path, FILE)], problems)
    assert (found.answers, found.passed_over) == ([], [])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (Changed("graders/counter.py", FILE), "graders/counter.py: graders/ holds no answers"),
        (
            Changed("solutions/counter/solution.py", FILE),
            "solutions/counter/solution.py: solutions/ holds no answers",
        ),
        (Changed("counter.py", LINK), "counter.py: a link or submodule, not a file"),
        (Changed("counter", SUBMODULE), "counter: a link or submodule, not a file"),
    ],
)
def test_what_is_passed_over_is_said(problems, change, reason):
    found = among([change], problems)
    assert (found.answers, found.passed_over) == ([], [reason])


def test_two_answers_to_one_problem_are_both_graded_in_order(problems):
    found = among([Changed("b/counter.py", FILE), Changed("a/counter.py", FILE)], problems)
    assert [answer.path for answer in found.answers] == ["a/counter.py", "b/counter.py"]


def test_a_list_names_the_files(problems, tmp_path):
    listing = tmp_path / "solutions.toml"
    listing.write_text('[solutions]\ncounter = "src/my_counter.py"\n', encoding="utf-8")
    found = listed(listing, problems)
    assert [(answer.problem.slug, answer.path) for answer in found.answers] == [
        ("counter", "src/my_counter.py")
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[solutions", "solutions.toml cannot be read: Expected ']' at the end of a table"),
        ("x = 1\n", "solutions.toml has no table\n  [solutions]\n  SLUG"),
        ("[solutions]\n", "solutions.toml has no table\n"),
        (
            '[solutions]\ncouter = "a.py"\n',
            "solutions.toml names a problem 'couter' that there is not\n"
            "  there is one with a close name: counter",
        ),
        (
            '[solutions]\nx = "a.py"\n',
            "solutions.toml names a problem 'x' that there is not\n  see harness list",
        ),
        (
            "[solutions]\ncounter = 3\n",
            "solutions.toml: counter is 3\n  it should be the path of a file",
        ),
        *(
            (
                f'[solutions]\ncounter = "{name}"\n',
                f"solutions.toml: counter is {shown!r}\n  name a file in this folder, no link",
            )
            for name, shown in [
                ("../a.py", "../a.py"),
                ("/etc/passwd", "/etc/passwd"),
                ("a/../../b.py", "a/../../b.py"),
                ("link.py", "link.py"),
                ("linked/a.py", "linked/a.py"),
                ("a\\u0000.py", "a\0.py"),
            ]
        ),
    ],
)
def test_a_list_that_cannot_be_used_says_why(problems, tmp_path, text, reason):
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    (tmp_path / "linked").symlink_to("/etc")
    listing = tmp_path / "solutions.toml"
    listing.write_text(text, encoding="utf-8")
    with pytest.raises(BadList) as refused:
        listed(listing, problems)
    assert str(refused.value).startswith(reason)


def test_a_list_that_is_no_text(problems, tmp_path):
    listing = tmp_path / "solutions.toml"
    listing.write_bytes(b"\xff\xfe")
    with pytest.raises(BadList, match=r"^solutions.toml cannot be read: "):
        listed(listing, problems)
