"""The Markdown report, read as GitHub reads it: what a candidate wrote stays in code."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from harness.render.markdown import fence, markdown, span, words
from harness.render.report import Audience
from tests.results_made import broke, held, not_assessed, result_of
from tests.test_html import round_with

READER = MarkdownIt("gfm-like", {"linkify": False}).enable("table")
HOSTILE = [
    "```\n# heading\n[a](http://x.test)",
    "`` ` `` ![i](http://x.test/i.png)",
    "<img src=x onerror=alert(1)>",
    "| a | b |\n|---|---|",
    "\r\n\r\n- item\n\n    code",
    "</details><script>",
    "~~~\n***",
]


def tokens(text: str) -> list[str]:
    """The kinds of everything in a text, in order, inline parts included."""
    kinds = []
    for token in READER.parse(text):
        kinds.append(token.type)
        kinds += [child.type for child in token.children or []]
    return kinds


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("audience", Audience)
def test_text_of_a_candidate_stays_in_code(text, audience):
    assert tokens(markdown(round_with(text), audience)) == tokens(
        markdown(round_with("plain"), audience)
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_words_are_words(text):
    kinds = tokens(f"- {words(text)}")
    assert set(kinds) <= {
        "bullet_list_open",
        "list_item_open",
        "paragraph_open",
        "inline",
        "text",
        "text_special",
        "paragraph_close",
        "list_item_close",
        "bullet_list_close",
    }


@pytest.mark.parametrize("text", ["`", "``` a ` b", "a`b", "plain", ""])
def test_code_comes_out_as_it_went_in(text):
    (fenced,) = [t for t in READER.parse(fence(text)) if t.type == "fence"]
    assert fenced.content == text + "\n"
    (inline,) = [t for t in READER.parse(f"x {span(text)}") if t.type == "inline"]
    assert inline.children[-1].content.strip() == text.strip()


def test_the_whole_report():
    result = result_of(held("one-holds", "invariant"), broke(), not_assessed())
    assert markdown(result, Audience.CANDIDATE) == (
        """\
# Strong no hire: Counter

`counter.py`: 1 held, 1 broke, 1 not assessed.

- nothing that was asked for works
- part of the round was not assessed (1 of 3 checks)

## broke: it adds (R1)

`it-adds`, behaviour

```python
a = Counter(1)
a.up(2)  # -> 4
```

```text
wanted  3
got     4
```

Without it it adds no more.

## What was checked

| | claim | |
|---|---|---|
| held | one holds | R1 |
| **broke** | it adds | R1 |
| not assessed | it is fast `needs a cuda device` | R1 |
"""
    )


def test_a_panel_reads_facts_questions_and_the_seed():
    text = markdown(result_of(broke()), Audience.PANEL)
    assert "- longest function: `up, 5 lines (from line 8)`" in text
    assert "- How is it that it adds?" in text
    assert "- seed: `987654321`" in text


def test_what_could_not_be_graded_is_no_mark():
    text = markdown(result_of(could_not_grade="no engine"), Audience.CANDIDATE)
    assert text == (
        """\
# No signal: Counter

`counter.py`: nothing ran.


Could not grade; this says nothing about the file.

```text
no engine
```

## What was checked

| | claim | |
|---|---|---|
"""
    )
