"""The page: nothing in a result becomes markup, a link, a style or a script."""

from __future__ import annotations

from html.parser import HTMLParser

import msgspec
import pytest

from harness.render.html import html
from harness.render.report import Audience
from harness.results import Check, Finding, Result
from harness.suite import pictures
from tests.results_made import SOURCE, broke, held, not_assessed, result_of

HOSTILE = (
    "</code></script><img src=x onerror=alert(1)>\"'{{70*70}}"
    "<a href=javascript:alert(1)>\u202e\x1b[31m"
)


class Skeleton(HTMLParser):
    """Tags and attributes of a page, without its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        kept = tuple((k, v) for k, v in attrs if k not in ("aria-label", "content"))
        self.tags.append((tag, kept))

    def handle_data(self, data):
        self.text += data


def skeleton(page: str) -> Skeleton:
    parser = Skeleton()
    parser.feed(page)
    return parser


def round_with(text: str) -> Result:
    """A result in which everything a candidate can write is this text."""
    picture = pictures.distribution({text: 0.5}, {text: 0.5}, draws=3)
    bad = broke(
        wanted=text, got=text, script=[text], code=text, printed=text, line=2, picture=picture
    )
    worse = broke("other", got=text, calls=[text])
    source = f"def f():\n    # {' '.join(text.split())}\n    pass\n"
    result = result_of(bad, worse, held(), not_assessed(reason=text), source=source, path=text)
    run = msgspec.structs.replace(result.run, worker={text: text}, isolation=text)
    return msgspec.structs.replace(result, run=run)


@pytest.mark.parametrize("audience", Audience)
def test_text_of_a_candidate_adds_no_tag_and_no_attribute(audience):
    plain = skeleton(html(round_with("plain"), audience))
    hostile = skeleton(html(round_with(HOSTILE), audience))
    assert hostile.tags == plain.tags
    assert "4900" not in hostile.text
    assert "\u202e" not in hostile.text
    assert "\x1b" not in hostile.text


def test_a_foreign_document_adds_no_tag_either():
    def foreign(text: str) -> Result:
        finding = Finding(fault=text, script=[text], imports=[text], wanted=text, got=text)
        words = dict.fromkeys(("id", "requirement", "claim", "why", "ask"), text)
        check = Check(kind="edge", status="broke", finding=finding, **words)
        result = result_of(check, expects={"No hire": text})
        return msgspec.structs.replace(result, level=text, reasons=[text], could_not_grade=text)

    plain = skeleton(html(foreign("plain"), Audience.PANEL))
    assert skeleton(html(foreign(HOSTILE), Audience.PANEL)).tags == plain.tags


def test_a_candidate_page_has_no_seed_and_no_question():
    result = result_of(broke(), held())
    page = html(result, Audience.CANDIDATE)
    assert str(result.run.seed) not in page
    assert "How is it" not in page
    assert "a.up(2)  # -&gt; 4" in page
    panel = html(result, Audience.PANEL)
    assert str(result.run.seed) in panel
    assert "How is it that it adds?" in panel


def test_the_page_allows_its_own_style_and_nothing_else():
    page = html(result_of(held()), Audience.PANEL)
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert "unsafe-inline" not in page
    assert "<script" not in page
    assert " style=" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_the_file_is_shown_with_its_numbers_and_cut_when_long():
    page = html(result_of(held(), source=SOURCE), Audience.PANEL)
    assert "<li><code>    def up(self, by):</code></li>" in page
    long = html(result_of(held(), source="x = 1\n" * 5000), Audience.PANEL)
    assert long.count("<li><code>x = 1</code></li>") == 2000
    assert "3001 more lines are left out here." in long
