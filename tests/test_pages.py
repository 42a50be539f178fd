"""Reports in a real browser: seen, printed, read aloud and used without a mouse."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from harness.render.html import html
from harness.render.report import Audience
from harness.results import OwnTests, Result, Sitting
from tests.results_made import SOURCE, broke, held, not_assessed, result_of
from tests.test_drawings import PICTURES
from tests.test_html import HOSTILE, round_with


def full() -> Result:
    """As much as one round holds: thirty checks and a finding of every picture."""
    checks = [held(f"what-was-asked-for-number-{n}-holds-as-the-statement-says") for n in range(12)]
    checks += [held(f"this-holds-after-every-call-number-{n}", "invariant") for n in range(6)]
    checks += [held(f"it-is-kind-to-edge-number-{n}", "edge") for n in range(8)]
    checks += [
        broke(f"it-draws-a-{name.replace(' ', '-')}", picture=p) for name, p in PICTURES.items()
    ]
    return result_of(
        *checks,
        broke("it-raises", "edge", fault="raised", line=10, code='raise ValueError("down")'),
        not_assessed(),
        source=SOURCE,
        expects={"No hire": "Most of it works, but a core rule does not hold."},
        sitting=Sitting(minutes=31.0, checks=12, hints=2),
        own_tests=OwnTests(tests=8, caught=11, mistakes=14),
    )


def crowded() -> Result:
    """Long functions, long lines and long words, every check broken."""
    lines = "".join(
        f"    value_{n} = self.count * {n} + sum(range(self.start, {n}))  # why\n"
        for n in range(40)
    )
    source = f"def up(self):\n{lines}    return 0\n\ndef down(self):\n{lines}    return 0\n"
    words = "a sentence that goes on for as long as such sentences do in practice, " * 2
    checks = [
        broke(
            f"number-{n}-of-the-claims-with-a-name-of-some-length",
            script=["a = Counter(start=1, step=2, name='a counter')"] * 8,
            calls=["down" if n % 2 else "up"],
            wanted=words,
            got=words,
            picture=PICTURES["wide grid" if n % 2 else "timeline"],
        )
        for n in range(12)
    ]
    return result_of(*checks, source=source, expects={"Strong no hire": words})


RESULTS = {
    "full": full(),
    "crowded": crowded(),
    "hostile": round_with(HOSTILE),
    "all held": result_of(held(), held("one-holds", "invariant")),
    "no signal": result_of(not_assessed(), could_not_grade="the image is missing"),
}


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        yield running
        running.close()


def opened(browser: Browser, path: Path, *, width: int = 1280, scheme: str = "light"):
    """A page and the list of everything it should not have done."""
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    unwanted: list[str] = []
    page.on("console", lambda message: unwanted.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: unwanted.append(f"error: {error}"))
    page.on("request", lambda request: unwanted.append(f"request: {request.url}"))
    page.on("dialog", lambda dialog: (unwanted.append("dialog"), dialog.dismiss()))
    page.goto(path.as_uri())
    unwanted.remove(f"request: {path.as_uri()}")
    return page, unwanted


def written(folder: Path, result: Result, audience: Audience) -> Path:
    path = folder / "page.html"
    path.write_text(html(result, audience), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1280, "dark")])
@pytest.mark.parametrize("name", RESULTS)
def test_a_page_is_clean(browser, tmp_path, name, width, scheme):
    path = written(tmp_path, RESULTS[name], Audience.PANEL)
    page, unwanted = opened(browser, path, width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert unwanted == []
    page.close()


def test_a_candidate_page_is_clean_too(browser, tmp_path):
    page, unwanted = opened(
        browser, written(tmp_path, RESULTS["full"], Audience.CANDIDATE), width=360
    )
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert unwanted == []
    page.close()


@pytest.mark.parametrize("name", RESULTS)
def test_a_page_prints_on_at_most_two_sheets(browser, tmp_path, name):
    page, _ = opened(browser, written(tmp_path, RESULTS[name], Audience.PANEL), scheme="dark")
    sheets = len(re.findall(rb"/Type\s*/Page\b(?!s)", page.pdf(prefer_css_page_size=True)))
    assert sheets <= 2
    page.close()


def focused(page: Page) -> str:
    return page.evaluate("document.activeElement.id || document.activeElement.className")


def test_a_page_can_be_used_without_a_mouse(browser, tmp_path):
    page, unwanted = opened(browser, written(tmp_path, RESULTS["full"], Audience.PANEL))
    page.keyboard.press("Tab")
    assert focused(page) == "skip"
    page.keyboard.press("Enter")
    assert focused(page) == "findings"
    while focused(page) != "answer-1":
        page.keyboard.press("Tab")
    page.keyboard.type("They count references.")
    assert page.locator("#answer-1").input_value() == "They count references."
    while page.evaluate("document.activeElement.tagName") != "SUMMARY":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.get_by_text('raise ValueError("down")').last.is_visible()
    assert unwanted == []
    page.close()


def test_a_finding_is_found_by_its_heading(browser, tmp_path):
    page, _ = opened(browser, written(tmp_path, RESULTS["full"], Audience.PANEL))
    assert page.get_by_role("heading", level=1, name="Level: No hire").is_visible()
    article = page.get_by_role("article", name="it draws a pool")
    assert article.get_by_role("img", name="Block pool: 3 of 20 blocks held").is_visible()
    page.close()


def test_these_tests_would_see_a_fault(browser, tmp_path):
    bad = written(tmp_path, RESULTS["all held"], Audience.PANEL)
    page_text = bad.read_text(encoding="utf-8").replace("<main>", "<main><textarea></textarea>")
    bad.write_text(page_text.replace("<main>", '<main><img src="x.png">'), encoding="utf-8")
    page, unwanted = opened(browser, bad)
    assert {fault["id"] for fault in Axe().run(page).response["violations"]} == {
        "image-alt",
        "label",
    }
    assert [line.split(":")[0] for line in unwanted] == ["console", "request"]
    page.close()
