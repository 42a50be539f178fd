"""Submissions that are alike: copies are shown to a person, independent answers are not."""

from __future__ import annotations

import builtins
import io
import keyword
import re
import tokenize
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from harness.batch.alike import MOST_BYTES, Alike, alike
from harness.batch.store import Store, Stored
from harness.commands.alike import handed_out
from harness.problems import all_problems, find_problem
from harness.render.alike_page import alike_lines, alike_page
from tests.batch.rounds_made import graded
from tests.commands.running import harness, said
from tests.results_made import held
from tests.test_pages import browser, opened  # noqa: F401 - a fixture

ROOT = Path(__file__).parents[2]
PROBLEM = find_problem(ROOT, "paged_allocator")
REFERENCE = PROBLEM.reference.read_text()


def of(name: str, source: str, slug: str = "paged_allocator") -> Stored:
    stored = graded(name, held(), slug=slug)
    submission = msgspec.structs.replace(stored.result.submission, source=source)
    result = msgspec.structs.replace(stored.result, submission=submission)
    return Stored("key", name, stored.origin, result)


def compared(*submissions: Stored) -> Alike:
    return alike(submissions, {"paged_allocator": handed_out(PROBLEM)})


def renamed(source: str) -> str:
    """A copy with other names, other comments and other spaces."""
    kept = {*keyword.kwlist, *dir(builtins), "self"}
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        text = token.string
        if token.type == tokenize.NAME and text not in kept and not text.startswith("__"):
            text = f"my_{text[::-1]}"
        elif token.type == tokenize.COMMENT:
            text = "# so"
        found.append((token.type, text))
    return str(tokenize.untokenize(found))


@pytest.mark.parametrize("slug", [problem.slug for problem in all_problems(ROOT)])
def test_independent_right_answers_are_not_alike(slug: str) -> None:
    problem = find_problem(ROOT, slug)
    answers = [of(path.stem, path.read_text(), slug) for path in problem.right]
    assert len(answers) >= 2
    found = alike(answers, {slug: handed_out(problem)})
    assert (found.pairs, found.compared, found.left_out) == ([], len(answers), [])


def test_a_copy_with_other_names_is_alike_and_its_lines_are_marked() -> None:
    other = PROBLEM.right[0].read_text()
    found = compared(of("ada", REFERENCE), of("bob", "\n\n" + renamed(REFERENCE)), of("zoe", other))
    (pair,) = found.pairs
    assert (pair.left.candidate, pair.right.candidate) == ("ada", "bob")
    assert min(pair.left.share, pair.right.share) > 0.9
    lines = REFERENCE.split("\n")
    code = {n for n, line in enumerate(lines, 1) if re.match(r"\s+(if|for|while|return) ", line)}
    assert code
    assert len(code - pair.left.shared) < len(code) / 10
    shown = pair.right.text.split("\n")
    assert not {1, 2} & pair.right.shared
    assert all(shown[number - 1].strip() for number in pair.right.shared)


def test_a_part_that_was_copied_is_marked_and_the_rest_is_not() -> None:
    lines = [
        f"def f{n}(a, b):\n    return a[{n}] * {n * n} - b[{n * 7}] // {n + 3}\n" for n in range(40)
    ]
    mine = "".join(
        f"def g{n}(x):\n    return {{x.{'abc'[n % 3]} ** {n}: x + {n * 31}}}\n" for n in range(10)
    )
    found = compared(
        of("ada", "".join(lines)), of("bob", mine + "class A:\n    pass\n" + "".join(lines))
    )
    (pair,) = found.pairs
    assert pair.left.share > 0.95
    assert 0.6 < pair.right.share < 0.9
    assert not pair.right.shared & set(range(1, 20))
    assert set(range(24, 102)) <= pair.right.shared


def test_what_washanded_out_is_nobodys_copy() -> None:
    stub = PROBLEM.stub.read_text()
    assert compared(of("ada", stub), of("bob", stub)).pairs == []


def test_what_cannot_be_compared_is_named() -> None:
    found = compared(
        of("ada", "x = 1\n" * MOST_BYTES),
        of("bob", ""),
        of("eve", "\ufeff\r\r"),
        of("zoe", "def ("),
    )
    assert found == Alike([], 3, [f"ada, paged_allocator: more than {MOST_BYTES:,} bytes"])
    slow = alike([of("ada", REFERENCE), of("bob", REFERENCE)], {}, read_limit_s=0.0)
    assert (slow.pairs, slow.compared) == ([], 0)
    assert slow.left_out[0] == "ada, paged_allocator: takes more than 0 s to read"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]


def test_nothing_of_a_strangers_is_obeyed_by_page_or_terminal() -> None:
    name = "<script>alert(1)</script>\x1b[2J"
    source = "x = '</code></pre><script>alert(2)</script>\u202e'  # \x1b]0;\n" + REFERENCE
    found = compared(of(name, source), of("bob", source))
    page = alike_page(found, index="index.html")
    tags = Tags()
    tags.feed(page)
    assert "script" not in tags.seen
    assert set(tags.addresses) == {"data:,", "index.html", "#p1"}
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\x1b[2J" in page
    lines = list(alike_lines(found))
    assert lines[1] == (r"  paged_allocator: 100% of <script>alert(1)</script>\x1b[2J, 100% of bob")
    assert lines[-1] == "A question for a person, not a verdict: no level has changed."


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1400, "light")])
def test_the_page_is_clean_in_a_browser(
    browser: Browser,  # noqa: F811
    tmp_path: Path,
    width: int,
    scheme: str,
) -> None:
    long = "x = [" + "1, " * 400 + "]\n" + REFERENCE
    found = compared(of("a" * 200, long), of("<b>bob", renamed(REFERENCE)), of("eve", REFERENCE))
    (tmp_path / "alike.html").write_text(alike_page(found), encoding="utf-8")
    page, unwanted = opened(browser, tmp_path / "alike.html", width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    axe = Axe().run(page)
    assert axe.violations_count == 0, axe.generate_report()
    assert unwanted == []
    page.close()


def test_the_command_writes_a_page_and_changes_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "out")
    store.results.mkdir(parents=True)
    for name, source in (("ada", REFERENCE), ("bob", renamed(REFERENCE))):
        store.put(of(name, source))
    before = {path: path.read_bytes() for path in store.results.iterdir()}
    code, shown, errors = harness("alike", "out", folder=tmp_path, pack=ROOT)
    assert (code, errors) == (0, "")
    assert re.fullmatch(
        r"2 submissions compared, 1 pair is alike\.\n"
        r"  paged_allocator: \d+% of ada, \d+% of bob\n"
        r"A question for a person, not a verdict: no level has changed\.\n"
        r"out/alike\.html is ready\.\n",
        shown,
    )
    assert {path: path.read_bytes() for path in store.results.iterdir()} == before
    code, shown, _ = harness("alike", "out", "--blind", folder=tmp_path, pack=ROOT)
    blind = (tmp_path / "out/blind/alike.html").read_text()
    assert code == 0
    assert not re.search(r"\b(ada|bob)\b", shown + blind)
    assert "Candidate 01" in blind
    (tmp_path / "empty").mkdir()
    code, _, errors = harness("alike", "empty", folder=tmp_path)
    assert (code, said(errors)) == (
        2,
        "empty holds no results of a round\n  harness grade makes them",
    )
