"""A round as data, as CSV and on a terminal."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import jsonschema
import msgspec

from harness.batch.overview import Overview, overview_of, to_json
from harness.documents import json_schema, schema_text
from harness.render.round_page import round_page
from harness.render.round_table import round_csv, round_lines
from tests.batch.rounds_made import graded, small_round
from tests.results_made import broke, held, not_assessed

PUBLISHED = Path(__file__).parents[2] / "docs" / "round.schema.json"


def test_the_published_schema_is_the_documents() -> None:
    """To make it anew:

    python -c 'from harness.documents import schema_text
    from harness.batch.overview import Overview
    print(schema_text(Overview), end="")' > docs/round.schema.json
    """
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(Overview)


def test_a_document_fits_its_schema() -> None:
    document = json.loads(to_json(overview_of(small_round(), ["torn.json: torn"])))
    jsonschema.validate(document, json_schema(Overview))
    assert document["version"] == 1
    assert document["left_out"] == ["torn.json: torn"]


def test_a_round_counts_what_broke_and_for_whom() -> None:
    ada = graded("ada", broke("it-adds"), broke("one-holds", "invariant"), not_assessed())
    bob = graded("bob", held("it-adds"), held("one-holds", "invariant"), held("it-is-fast", "cost"))
    overview = overview_of([ada, bob])
    (problem,) = overview.problems
    assert [check.id for check in problem.checks] == ["one-holds", "it-adds", "it-is-fast"]
    first, second = overview.submissions
    assert (first.level, first.held, first.broke, first.not_assessed) == ("Strong no hire", 0, 2, 1)
    assert first.broken == {"invariant": 1, "behaviour": 1, "edge": 0, "cost": 0}
    assert first.checks == {"it-adds": "broke", "one-holds": "broke", "it-is-fast": "not assessed"}
    assert (second.level, second.reasons) == ("Strong hire", [])
    assert second.scorecard == "bob__counter.html"


def test_two_ways_of_grading_stay_visible() -> None:
    ada, bob = graded("ada", held()), graded("bob", held("another"))
    run = msgspec.structs.replace(bob.result.run, seed=1)
    problem = msgspec.structs.replace(bob.result.problem, suite_sha256="6" * 64)
    result = msgspec.structs.replace(bob.result, run=run, problem=problem)
    overview = overview_of([ada, msgspec.structs.replace(bob, result=result)])
    assert [one.seed for one in overview.settings] == [987654321, 1]
    assert overview.problems[0].suites == ["5" * 64, "6" * 64]
    page = round_page(overview)
    assert "graded in 2 ways" in page
    assert "counter was graded with 2 versions of its suite" in page
    assert page.count("<td class=m>not in its suite") == 2


def test_what_could_not_be_graded_is_no_mark() -> None:
    (row,) = overview_of([graded("ada", could_not_grade="no engine")]).submissions
    assert (row.level, row.reasons, row.could_not_grade) == ("No signal", [], "no engine")


def test_the_csv_has_a_row_a_submission_and_no_formula() -> None:
    rows = list(csv.DictReader(io.StringIO(round_csv(overview_of(small_round())))))
    assert len(rows) == len(small_round())
    assert {row["candidate"] for row in rows if "1" in row["candidate"]} == {
        "'=1+1",
        "<script>alert(1)</script>",
    }
    zoe = next(row for row in rows if (row["candidate"], row["problem"]) == ("zoe", "second"))
    assert (zoe["level"], zoe["invariant_broke"], zoe["broken_checks"]) == (
        "Strong no hire",
        "1",
        "it-adds one-holds",
    )


def test_the_table_of_a_terminal() -> None:
    stored = [
        graded("ada", held("it-adds"), held("one-holds", "invariant")),
        graded("bob", broke("it-adds"), broke("one-holds", "invariant"), held("x", "edge")),
        graded("i" * 60, held("it-adds"), broke("x", "edge"), held("y", "edge")),
        graded("\u5f20" * 15 + "a\u0301", held()),
        graded("\x1b[31m::error::", could_not_grade="no engine"),
    ]
    assert list(round_lines(overview_of(stored))) == [
        "counter   Counter",
        "  level             invariants   others     time   candidate",
        "                         broke    broke",
        "  Strong hire                -        -    1.5 s   ada",
        "  Strong no hire             1        1    1.5 s   bob",
        f"  Hire                       -        1    1.5 s   {'i' * 29}",
        f"{'i' * 29:>80}",
        f"{'ii':>53}",
        "  Strong hire                -        -    1.5 s   " + "\u5f20" * 14,
        f"{' ' * 51}\u5f20a\u0301",
        r"  No signal                  -        -    1.5 s   \x1b[31m::error::",
        "",
    ]


def test_no_line_is_wider_than_a_terminal_and_no_name_is_cut() -> None:
    lines = list(round_lines(overview_of(small_round())))
    assert max(map(len, lines)) <= 80
    assert "".join(line[51:] for line in lines).count("i" * 120) == 1
