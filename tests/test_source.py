"""The candidate's lines beside a finding: found in any text, also one that does not compile."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from harness.render.source import MOST_LINES, definitions, excerpt, longest_function, start_line
from tests.results_made import SOURCE

PACKAGE = Path(__file__).parent.parent / "harness"


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("render/*.py")), ids=lambda path: path.name)
def test_definitions_have_the_lines_that_python_gives_them(path):
    text = path.read_text(encoding="utf-8")
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    wanted = [
        (node.name, node.lineno, node.end_lineno)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, kinds)
    ]
    assert sorted((one.name, one.first, one.last) for one in definitions(text)) == sorted(wanted)


@pytest.mark.parametrize(
    "text",
    [
        "def f(:\n  x",
        "(" * 5000,
        "-" * 100_000 + "1",
        "def",
        "\0",
        "def f():\n\tx\n        y\n",
        "'",
    ],
    ids=["broken", "brackets", "signs", "half a word", "zero byte", "tabs", "open string"],
)
def test_a_text_that_is_no_python_does_no_harm(text):
    definitions(text)
    assert excerpt(text, calls=["f"], line=1)[0][0].number == 1


def lines_of(blocks):
    return [(line.number, line.text) for block in blocks for line in block]


def test_the_functions_called_last_are_shown():
    assert lines_of(excerpt(SOURCE, calls=["fresh", "up"], line=0)) == [
        (15, "def fresh(): return Counter(0)"),
        (8, "def up(self, by):"),
        (9, "    if by < 0:"),
        (10, '        raise ValueError("down")'),
        (11, "    self.count += by"),
        (12, "    return self.count"),
    ]


def test_a_class_is_shown_by_its_constructor():
    assert lines_of(excerpt(SOURCE, calls=["Counter"], line=0))[0] == (
        5,
        "def __init__(self, start):",
    )


def test_a_fault_marks_its_line():
    marked = [
        line for block in excerpt(SOURCE, calls=["up"], line=10) for line in block if line.marked
    ]
    assert [line.text for line in marked] == ['        raise ValueError("down")']


def test_a_long_function_is_shown_around_the_fault():
    text = "def f():\n" + "".join(f"    x{number} = 0\n" for number in range(100))
    (block,) = excerpt(text, calls=["f"], line=60)
    assert len(block) == MOST_LINES
    assert [line.number for line in block if line.marked] == [60]


def test_an_unknown_function_shows_nothing():
    assert excerpt(SOURCE, calls=["down"], line=0) == []


def test_a_finding_is_about_the_fault_or_the_last_function_called():
    assert start_line(SOURCE, calls=["Counter", "up"], line=0) == 8
    assert start_line(SOURCE, calls=["up"], line=10) == 10
    assert start_line(SOURCE, calls=["down"], line=0) == 1


def test_the_longest_function_is_a_method_too():
    longest = longest_function(SOURCE)
    assert longest is not None
    assert (longest.name, longest.length) == ("up", 5)


def test_other_line_endings_are_counted_as_python_counts_them():
    assert lines_of(excerpt("a = 1\rdef f():\r\n    pass\n", calls=["f"], line=0)) == [
        (2, "def f():"),
        (3, "    pass"),
    ]


def test_a_line_that_the_file_does_not_have_shows_nothing():
    assert excerpt(SOURCE, calls=["up"], line=10_000) == [[]]


@pytest.mark.parametrize(
    "slow", ["    x" + " " * 200_000 + "$\n", "    '" + "\\'" * 100_000 + "\n"]
)
def test_what_is_no_python_is_read_once_and_no_further(slow):
    """Each sign of such a line used to be tried with all the rest of it: hours for one file."""
    known = definitions(f"def f():\n    pass\n\ndef g():\n{slow}\ndef h():\n    pass\n")
    assert [one.name for one in known][:1] == ["f"]
    assert "h" not in [one.name for one in known]
