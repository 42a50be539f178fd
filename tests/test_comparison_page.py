"""Two results side by side as a page: whole, harmless, clean in a real browser, by the command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from harness.batch.store import Stored
from harness.render.comparison import compared
from harness.render.comparison_page import comparison_page
from harness.results import Result, to_json
from tests.batch.rounds_made import kept
from tests.commands.running import harness, said
from tests.results_made import broke, held, not_assessed, result_of
from tests.test_html import HOSTILE, round_with, skeleton
from tests.test_pages import RESULTS, browser, opened  # noqa: F401 - a fixture

HELD = result_of(held(), held("other"), held("it-is-fast", "cost"))


def page(a: Result, b: Result, *, text: str = "ada") -> str:
    return comparison_page(compared(a, b), (text, "bob"), (f"{text}.json", "bob.json"))


@pytest.mark.parametrize("hostile_first", [True, False])
def test_text_of_a_candidate_adds_no_tag_and_no_attribute(hostile_first: bool) -> None:
    def tags(text: str) -> list[tuple[str, tuple[tuple[str, str | None], ...]]]:
        both = (round_with(text), HELD) if hostile_first else (HELD, round_with(text))
        made = skeleton(page(*both, text=text))
        assert "4900" not in made.text
        assert "\u202e" not in made.text
        return made.tags

    assert tags(HOSTILE) == tags("plain")


def test_the_page_allows_its_own_style_and_nothing_else() -> None:
    text = page(RESULTS["full"], HELD)
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert "unsafe" not in text
    assert " style=" not in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    ("a", "b", "width", "scheme"),
    [
        ("full", "crowded", 360, "dark"),
        ("crowded", "hostile", 1280, "light"),
        ("no signal", "all held", 360, "light"),
        ("all held", "all held", 1280, "dark"),
    ],
)
def test_the_page_is_clean(
    browser: Browser,  # noqa: F811
    tmp_path: Path,
    a: str,
    b: str,
    width: int,
    scheme: str,
) -> None:
    path = tmp_path / "page.html"
    path.write_text(page(RESULTS[a], RESULTS[b], text="i" * 120), encoding="utf-8")
    shown, unwanted = opened(browser, path, width=width, scheme=scheme)
    shown.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(shown)
    assert found.violations_count == 0, found.generate_report()
    assert unwanted == []
    shown.close()


def test_a_check_that_differs_is_told_from_both_sides(browser: Browser, tmp_path: Path) -> None:  # noqa: F811
    a = result_of(broke(calls=["up"]), broke("other", got="7"), held("one-holds", "invariant"))
    b = result_of(
        held("it-adds"), broke("other", got="8"), held("one-holds", "invariant"), not_assessed()
    )
    path = tmp_path / "page.html"
    path.write_text(page(a, b), encoding="utf-8")
    shown, _ = opened(browser, path)
    words = "2 checks differ; 1 held in both; 1 broke in both, 1 of them in another way."
    assert shown.get_by_role("heading", level=1).inner_text() == words
    facts = shown.locator(".pair tr").all_inner_texts()
    assert facts[0].split() == ["A", "ada", "ada.json", "B", "bob", "bob.json"]
    assert facts[1].split("\t") == ["level", a.level, b.level]
    shown.locator(".checks").get_by_role("link", name="it adds").click()
    first, second = shown.get_by_role("article", name="it adds").locator(".beside > div").all()
    assert first.inner_text().startswith("A broke\na = Counter(1)\n")
    assert second.inner_text().startswith("B held\n")
    assert "def up(self, by):" in first.inner_text()
    assert "def up(self, by):" in second.inner_text()
    both = shown.get_by_role("article", name="broke in both, each in its own way")
    assert [re.findall("got\n?(.)", side) for side in both.locator(".beside > div")
            .all_inner_texts()] == [["7"], ["8"]]  # fmt: skip
    shown.get_by_text("1 held in both").last.click()
    assert shown.get_by_text("one holds").last.is_visible()
    shown.close()


def test_the_command_writes_the_page_beside_b(tmp_path: Path) -> None:
    kept(tmp_path / "round", [Stored("key", "ada", "ada.py", result_of(held(), broke()))])
    (tmp_path / "later.json").write_bytes(to_json(result_of(held(), held("it-adds"))))
    both = ("compare", "round/results/ada__counter.json", "later.json", "--format", "html")
    code, out, err = harness(*both, folder=tmp_path)
    assert (code, out, err) == (0, "ada__counter-and-later.html is ready.\n", "")
    text = (tmp_path / "ada__counter-and-later.html").read_text(encoding="utf-8")
    assert "<bdi>ada</bdi> <small>ada__counter.json</small>" in text
    assert "<bdi>counter.py</bdi> <small>later.json</small>" in text
    code, out, err = harness(*both, "--out", "-", folder=tmp_path)
    assert (code, out, err) == (0, text, "")
    code, out, err = harness(*both, "--out", "nowhere/page.html", folder=tmp_path)
    words = "nowhere/page.html cannot be written: No such file or directory\n"
    assert (code, out, err) == (2, "", f"{words}  name another place with --out\n")
    code, _, err = harness(*both[:3], "--out", "page.html", folder=tmp_path)
    assert (code, said(err)) == (2, "--out is for --format html; text goes to the terminal")
