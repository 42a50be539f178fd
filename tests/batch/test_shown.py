"""What is shown of a round: pages, tables, hidden names, on the whole command."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from urllib.parse import unquote

import msgspec
import pytest
from junitparser import JUnitXml

from harness.batch.blind import KEY, labels
from harness.batch.overview import overview_of
from harness.batch.store import Store, Stored
from harness.commands.shown import round_shown, write_round
from harness.render.round_page import round_page
from harness.results import Check
from tests.batch.rounds_made import NAMES, graded, kept, small_round
from tests.commands.running import RIGHT, harness, said
from tests.results_made import held
from tests.test_html import HOSTILE, skeleton

TELLING = "Grace|Hopper|Ada|Lovelace|lines%|two|take-homes|alike|2026-01|03:04"


def test_a_name_adds_no_tag_and_no_attribute() -> None:
    def page(name: str) -> str:
        stored = [graded(name, *one.result.checks) for one in small_round(("zoe", "ada"))]
        return round_page(overview_of(stored[:1], [f"{name}: torn"]))

    plain, hostile = skeleton(page("plain")), skeleton(page(HOSTILE))
    hrefs = [dict(attributes).get("href") or "" for _, attributes in hostile.tags]
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags]
    assert all(re.fullmatch(r"[#\w./%-]*|data:,", href) for href in hrefs)
    assert "4900" not in hostile.text
    assert "\u202e" not in hostile.text


def foreign(text: str) -> Stored:
    """A result that no harness wrote: this text wherever a text can be."""
    words = dict.fromkeys(("id", "requirement", "claim", "why", "ask"), text)
    stored = graded(text, Check(kind="edge", status="broke", **words), slug=text)
    result, run = stored.result, stored.result.run
    run = msgspec.structs.replace(run, isolation=text, budget=text, device=text, harness=text)
    result = msgspec.structs.replace(result, run=run, level=text, reasons=[text])
    return msgspec.structs.replace(stored, result=result)


def test_a_foreign_document_adds_no_tag_either() -> None:
    plain, hostile = (
        skeleton(round_page(overview_of([foreign(text)]))).tags for text in ("plain", HOSTILE)
    )
    assert [tag for tag, _ in hostile if tag != "wbr"] == [tag for tag, _ in plain]
    assert [list(dict(given)) for _, given in hostile] == [list(dict(given)) for _, given in plain]


def test_a_foreign_document_writes_nowhere_else(tmp_path: Path) -> None:
    store = kept(tmp_path / "deep" / "round", [])
    (store.results / "x.json").write_bytes(msgspec.json.encode(foreign("../../../evil")))
    write_round(round_shown(store, blind=False), store.folder)
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["round"]
    assert len(list((store.folder / "scorecards").iterdir())) == 1


def test_a_round_of_which_nothing_can_be_read_is_a_page() -> None:
    page = round_page(overview_of([], ["torn.json: torn"]))
    assert "0 candidates, 0 problems" in page
    assert "torn.json: torn" in page


def test_the_page_allows_its_own_style_and_script_and_nothing_else() -> None:
    page = round_page(overview_of(small_round()))
    assert "default-src 'none'" in page
    assert "unsafe" not in page
    assert page.count("<script>") == 1
    assert " style=" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")


def test_a_round_is_written_whole_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    store = kept(tmp_path, small_round())
    (tmp_path / "scorecards").mkdir()
    (tmp_path / "scorecards" / "gone__counter.html").touch()
    (tmp_path / "alike.html").touch()
    index = write_round(round_shown(store, blind=False), tmp_path)
    assert index == tmp_path / "index.html"
    links = set(re.findall(r'href="([^"#:]+)"', index.read_text(encoding="utf-8")))
    assert "alike.html" in links
    assert {unquote(link) for link in links} == {
        "alike.html",
        *(f"scorecards/{path.name}" for path in (tmp_path / "scorecards").iterdir()),
    }
    assert len(links) == 1 + len(small_round())
    assert len(list(JUnitXml.fromfile(str(tmp_path / "results.junit.xml")))) == len(small_round())
    assert len(json.loads((tmp_path / "results.json").read_bytes())["submissions"]) == 13


def test_what_could_not_be_graded_now_is_shown_instead_of_what_was_before(tmp_path: Path) -> None:
    store = kept(tmp_path, [graded("ada", held())])
    failed = graded("ada", could_not_grade="the engine is gone")
    (row,) = round_shown(store, [failed], blind=False).overview.submissions
    assert (row.level, row.could_not_grade) == ("No signal", "the engine is gone")


def test_nothing_of_a_blind_round_names_anybody(tmp_path: Path) -> None:
    names = ("Grace Hopper", "two\nlines", "Ada <i>Lovelace</i>")
    store = kept(tmp_path, small_round(names))
    (tmp_path / "alike.html").write_text("Ada and Grace")
    shown = round_shown(store, blind=True)
    index = write_round(shown, shown.folder)
    assert index == tmp_path / "blind" / "index.html"
    for path in [*index.parent.rglob("*")]:
        text = str(path) + (path.read_text(encoding="utf-8") if path.is_file() else "")
        assert not re.search(
            "Grace|Hopper|Ada|Lovelace|lines%|two|take-homes|alike|2026-01|03:04", text
        ), path
    assert (tmp_path / KEY).stat().st_mode & 0o777 == stat.S_IRUSR | stat.S_IWUSR
    assert set(json.loads((tmp_path / KEY).read_bytes())) == {f"Candidate 0{n}" for n in (1, 2, 3)}
    assert "Candidate 01" in index.read_text(encoding="utf-8")


def test_a_number_stays_with_its_name_and_its_order_says_nothing(tmp_path: Path) -> None:
    names = [f"{letter}{number}" for letter in "abcdefgh" for number in range(10)]
    first = labels(tmp_path, names)
    assert sorted(first.values()) == [f"Candidate {number:02}" for number in range(1, 81)]
    assert list(first) != sorted(first)
    more = labels(tmp_path, [*names, *(f"new {number}" for number in range(40))])
    assert {name: more[name] for name in names} == first
    assert len(set(more.values())) == 120


def test_a_file_that_tells_its_name_is_pointed_out(tmp_path: Path) -> None:
    telling = graded("ada_lovelace", held(), source='"""By Ada Lovelace."""\n')
    silent = graded("bob", held(), source="x = 1\n")
    shown = round_shown(kept(tmp_path, [telling, silent]), blind=True)
    assert shown.telling == [f"{shown.labels['ada_lovelace']}, counter"]


def test_a_name_is_the_same_however_its_letters_are_made(tmp_path: Path) -> None:
    telling = graded("Jose\u0301 Nu\u0301n\u0303ez", held(), source="# Jos\u00e9 N\u00fa\u00f1ez\n")
    assert len(round_shown(kept(tmp_path, [telling]), blind=True).telling) == 1


def test_report_writes_a_round(tmp_path: Path) -> None:
    kept(tmp_path / "round", small_round())
    (tmp_path / "round" / "results" / "torn.json").write_bytes(b'{"key"')
    code, out, err = harness("report", "round", folder=tmp_path)
    assert (code, out) == (0, "round/index.html is ready.\n")
    assert err == "not shown: torn.json: torn, or no result: Input data was truncated\n"
    for form, beginning in {
        "csv": "candidate,",
        "json": "{",
        "junit": "<?xml",
        "html": "<!doc",
    }.items():
        code, out, err = harness("report", "round", "--format", form, "--out", "-", folder=tmp_path)
        assert (code, out[: len(beginning)], err) == (0, beginning, "")
    code, out, _ = harness("report", "round", "--format", "csv", folder=tmp_path)
    assert (code, out) == (0, "round/results.csv is ready.\n")
    code, out, err = harness("report", "round", "--blind", folder=tmp_path)
    assert (code, out) == (0, "round/blind/index.html is ready.\n")
    assert "torn.json" not in err
    one = next((tmp_path / "round" / "results").glob("ada__counter.json"))
    code, out, _ = harness("report", str(one), "--format", "csv", "--out", "-", folder=tmp_path)
    assert (code, out.splitlines()[0].split(",")[0]) == (0, "problem")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["empty"], "empty holds no results of a round\n"),
        (["round", "--for", "candidate"], "the pages of a round are for a panel\n"),
        (["round", "--format", "markdown"], "a round is shown as html, csv, json, junit,"),
        (["one.json", "--blind"], "--blind is for the folder of a round, and one.json is none"),
        (["one.json", "--format", "json"], "--format json is for the folder of a round,"),
    ],
)
def test_what_a_round_cannot_be_shown_as_is_said(
    tmp_path: Path, arguments: list[str], error: str
) -> None:
    kept(tmp_path / "round", [graded("ada", held())])
    (tmp_path / "empty").mkdir()
    code, out, err = harness("report", *arguments, folder=tmp_path)
    assert (code, out) == (2, "")
    assert said(err).startswith(error)


def test_a_key_that_cannot_be_read_is_said_and_left(tmp_path: Path) -> None:
    kept(tmp_path / "round", [graded("ada", held())])
    (tmp_path / "round" / KEY).write_text("[]")
    code, _, err = harness("report", "round", "--blind", folder=tmp_path)
    assert code == 2
    assert "remove it to draw new numbers" in said(err)
    assert (tmp_path / "round" / KEY).read_text() == "[]"


def test_a_round_is_graded_and_shown_without_names(tmp_path: Path) -> None:
    homes = tmp_path / "homes"
    homes.mkdir()
    for name in NAMES[:2]:
        (homes / f"{name}__tally.py").write_text(RIGHT)
    (homes / "notes-on-zoe.txt").touch()
    grade = ["grade", "homes", "--out", "round", "--backend", "local", "--seed", "7"]
    code, out, err = harness(*grade, "--blind", folder=tmp_path)
    assert code == 0
    assert not re.search("zoe|ada", out + err)
    assert "1 not understood, named by --dry-run\n" in out
    assert [line.split("   ")[-1] for line in out.splitlines() if "Strong" in line] == [
        "Candidate 01",
        "Candidate 02",
    ]
    assert out.splitlines()[-2:] == ["2 of 2 graded. Seed 7.", "Next: round/blind/index.html"]
    assert not (tmp_path / "round" / "index.html").exists()
    code, out, _ = harness(*grade, folder=tmp_path)
    assert code == 0
    assert out.splitlines()[-1] == "Next: round/index.html"
    assert "   ada\n" in out
    assert len(Store(tmp_path / "round").all()) == 2
