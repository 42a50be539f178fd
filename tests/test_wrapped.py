"""Statements and hints in 80 columns: text is filled, code and tables are left alone."""

from __future__ import annotations

import pytest

from harness.problems import all_problems, default_pack
from harness.render.wrapped import WIDTH, wrapped

TEXTS = {
    "a paragraph": ("one two\nthree\n", "one two three\n"),
    "two": ("one\n\ntwo\n", "one\n\ntwo\n"),
    "an indented item": ("  - one\n    two\n", "  - one two\n"),
    "code in a line": ("word " * 15 + "`a b c`", "word " * 14 + "word\n`a b c`\n"),
    "code": ("```\n" + "x" * 90 + "\n  y\n```\n", "```\n" + "x" * 90 + "\n  y\n```\n"),
    "a heading": ("# One\ntwo\n", "# One\ntwo\n"),
    "a table": ("| a |\n| b |\n", "| a |\n| b |\n"),
}


@pytest.mark.parametrize(("text", "wanted"), TEXTS.values(), ids=TEXTS)
def test_text_is_filled_and_code_is_not(text, wanted):
    assert wrapped(text) == wanted


def test_items_hang_below_their_first_word():
    lines = wrapped("- " + "word " * 20 + "\n- next\n").splitlines()
    assert [line[:6] for line in lines] == ["- word", "  word", "- next"]


@pytest.mark.parametrize("problem", all_problems(default_pack()), ids=lambda p: p.slug)
def test_every_statement_keeps_its_words_and_fits(problem):
    for path in (problem.statement, problem.hints):
        text = path.read_text(encoding="utf-8")
        assert wrapped(text).split() == text.split()
        code = False
        for line in wrapped(text).splitlines():
            code ^= line.lstrip().startswith("```")
            assert code or len(line) <= WIDTH or line.startswith(("|", "    "))
