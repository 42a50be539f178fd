"""`harness report`: files written, and what it says of a document that is no result."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from harness.cli import harness
from harness.results import to_json
from tests.results_made import broke, held, result_of


def run(*arguments: str):
    return CliRunner().invoke(harness, ["report", *arguments])


@pytest.fixture
def document(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ada.json").write_bytes(to_json(result_of(held(), broke())))
    return tmp_path / "ada.json"


@pytest.mark.parametrize(
    ("form", "name", "start"),
    [
        ("html", "ada.html", "<!doctype html>"),
        ("markdown", "ada.md", "# No hire: Counter"),
        ("junit", "ada.junit.xml", "<?xml version="),
        ("gradescope", "ada.gradescope.json", "{\n"),
        ("csv", "ada.csv", "problem,file"),
    ],
)
def test_a_report_lands_beside_the_result(document, form, name, start):
    done = run("ada.json", "--format", form)
    assert (done.exit_code, done.output) == (0, f"{name} is ready.\n")
    assert (document.parent / name).read_text(encoding="utf-8").startswith(start)


def test_html_for_the_panel_is_what_one_gets_without_options(document):
    run("ada.json")
    assert "987654321" in (document.parent / "ada.html").read_text(encoding="utf-8")


def test_a_report_for_the_candidate_on_the_output(document):
    done = run("ada.json", "--for", "candidate", "--format", "markdown", "--out", "-")
    assert done.output.startswith("# No hire: Counter\n\n`counter.py`: 1 held, 1 broke.\n")
    assert "987654321" not in done.output


def refusal(done) -> str:
    assert done.exit_code == 2
    return done.output.split("Error: ", 1)[1]


def test_the_result_itself_is_not_written_over(document):
    done = run("ada.json", "--out", "./ada.json")
    assert refusal(done) == "ada.json is the result itself\n  name another file with --out\n"


def test_a_missing_file(document):
    assert refusal(run("bob.json")) == (
        "bob.json cannot be read: No such file or directory\n"
        "  harness check SLUG --json bob.json writes it\n"
    )


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"version": 1, "problem"', "not JSON: Input data was truncated"),
        (b'{"stats": []}', "a result of version None; this harness reads version 1"),
        (b'{"version": 9}', "a result of version 9; this harness reads version 1"),
    ],
)
def test_what_is_no_result_is_refused_with_the_reason(document, raw, reason):
    document.write_bytes(raw)
    assert refusal(run("ada.json")) == (
        f"ada.json is no result that can be shown: {reason}\n"
        "  harness check SLUG --json ada.json writes one\n"
    )


def test_a_place_that_cannot_be_written(document):
    done = run("ada.json", "--out", "nowhere/ada.html")
    assert (done.exit_code, done.output) == (
        2,
        "nowhere/ada.html cannot be written: No such file or directory\n"
        "  name another place with --out\n",
    )


def test_gradescope_gets_no_number_where_there_is_no_level(document):
    document.write_bytes(to_json(result_of(could_not_grade="no engine")))
    done = run("ada.json", "--format", "gradescope")
    assert (done.exit_code, done.output) == (
        3,
        "no score was written: no engine\n"
        "  without a level any number would be a mark nobody gave\n",
    )
    assert not (document.parent / "ada.gradescope.json").exists()
