"""The page of a round in a real browser: sorted and filtered, also without script or mouse."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from harness.batch.overview import overview_of
from harness.render.round_page import round_page
from tests.batch.rounds_made import NAMES, graded, small_round
from tests.test_pages import browser, opened  # noqa: F401 - a fixture

LONG = "a name that goes on " * 12


def written(folder: Path) -> Path:
    stored = [*small_round(), graded(LONG, could_not_grade="the image is missing")]
    stored.sort(key=lambda one: (one.candidate, one.result.problem.slug))
    path = folder / "index.html"
    page = round_page(overview_of(stored, ["torn.json: torn"]), alike="alike.html")
    path.write_text(page, encoding="utf-8")
    return path


def names(page: Page, table: str = "#table") -> list[str]:
    """The candidates whose rows are seen, in the order they are."""
    rows = page.locator(f"{table} tbody tr:visible th").all_inner_texts()
    return [name if len(name) < 12 else name[:3] for name in rows]


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (360, "dark"), (1280, "dark")])
def test_the_page_is_clean(browser: Browser, tmp_path: Path, width: int, scheme: str) -> None:  # noqa: F811
    page, unwanted = opened(browser, written(tmp_path), width=width, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert unwanted == []
    page.close()


def test_a_column_is_sorted_by_keyboard_and_equals_stay_in_the_order_of_names(
    browser: Browser,  # noqa: F811
    tmp_path: Path,
) -> None:
    page, unwanted = opened(browser, written(tmp_path))
    page.locator("#problem").select_option("counter")
    by_name = names(page)
    levels = page.locator("#table tbody tr:visible td:nth-child(3)")
    assert by_name == ["<sc", "=1+1", "a n", "ada", "bob", "iii", "two", "zoe"]
    page.locator("#table button").nth(1).focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.get_by_role("columnheader", name="Level").first.get_attribute("aria-sort") == (
        "descending"
    )
    order = ["Strong hire", "Hire", "No hire", "Strong no hire", "No signal"]
    seen = list(zip(levels.all_inner_texts(), names(page), strict=True))
    assert seen == sorted(seen, key=lambda one: (order.index(one[0]), by_name.index(one[1])))
    page.keyboard.press("Enter")
    again = list(zip(levels.all_inner_texts(), names(page), strict=True))
    assert again == sorted(seen, key=lambda one: (-order.index(one[0]), by_name.index(one[1])))
    assert again != seen
    assert unwanted == []
    page.close()


def test_rows_are_found_by_typing_and_the_map_follows(browser: Browser, tmp_path: Path) -> None:  # noqa: F811
    page, unwanted = opened(browser, written(tmp_path))
    count = page.get_by_role("status")
    assert count.inner_text() == "all 14"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # skips to the submissions
    page.keyboard.press("Tab")
    page.keyboard.type("ADA")
    assert names(page) == ["ada", "ada"]
    assert count.inner_text() == "2 of 14"
    page.get_by_text("Candidates against checks").first.click()
    assert names(page, "[data-problem=counter] .map") == ["ada"]
    page.keyboard.press("Shift+Tab")
    page.locator("#find").fill("<script>")
    assert names(page) == ["<sc", "<sc"]
    page.locator("#find").fill("")
    page.locator("#level").focus()
    page.keyboard.type("No s")
    assert names(page) == [LONG[:3]]
    page.locator("#level").select_option("")
    page.locator("#problem").select_option("second")
    assert count.inner_text() == "6 of 14"
    assert page.locator("section.problem:visible").count() == 1
    assert unwanted == []
    page.close()


def test_a_check_of_the_map_is_sorted_to_whom_it_broke_for(
    browser: Browser,  # noqa: F811
    tmp_path: Path,
) -> None:
    page, _ = opened(browser, written(tmp_path))
    page.get_by_text("Candidates against checks").first.click()
    table = page.get_by_role("region", name="Candidates against checks, counter")
    table.get_by_role("button", name="it-adds").focus()
    page.keyboard.press("Space")
    cells = table.locator("tbody tr td:nth-child(4)").all_text_contents()
    words = [cell.strip() for cell in cells]
    assert words == [*["broke"] * 3, "not in its suite", *["held"] * 4]
    assert names(page, "[data-problem=counter] .map")[:3] == ["<sc", "ada", "two"]
    page.close()


def test_without_script_all_is_there(browser: Browser, tmp_path: Path) -> None:  # noqa: F811
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(written(tmp_path).as_uri())
    assert page.locator("#table tbody tr:visible").count() == 2 * len(NAMES)
    assert not page.locator("form").is_visible()
    assert page.locator("button").count() == 0
    page.locator(".checks summary").first.click()
    assert page.locator(".checks [open] a").first.is_visible()
    context.close()
