"""Notes on the candidate's lines: the heaviest ten, each on one line that obeys nothing."""

from __future__ import annotations

from harness.render.annotations import Annotation, for_github, in_plain, notes
from harness.render.run_log import run_log
from harness.render.summary import summary
from tests.results_made import broke, held, not_assessed, result_of
from tests.test_markdown import HOSTILE, tokens


def test_a_finding_is_noted_where_its_last_call_begins():
    assert notes([result_of(held(), broke())]) == [
        Annotation("counter.py", 8, "error", "broke[it-adds]", "it adds (R1)\nwanted 3\ngot 4")
    ]


def test_a_fault_is_noted_on_its_line_and_an_edge_is_a_warning():
    (note,) = notes([result_of(broke("one", "edge", line=10))])
    assert (note.line, note.severity) == (10, "warning")


def test_at_most_ten_and_the_heaviest_first():
    many = [broke(f"e{number}", "edge") for number in range(9)]
    results = [result_of(*many), result_of(*many, broke("i", "invariant"))]
    found = notes(results)
    assert len(found) == 10
    assert [note.title for note in found][:2] == ["broke[i]", "broke[e0]"]


def test_github_gets_one_line_whatever_is_in_it():
    note = Annotation("a,b:c%.py", 3, "error", "t:,\n", "100%\n::set-env name=A::b\r\x1b[31m")
    assert for_github(note) == (
        "::error file=a%2Cb%3Ac%25.py,line=3,title=t%3A%2C%0A::"
        "100%25%0A::set-env name=A::b\\r\\x1b[31m"
    )


def test_a_plain_note_is_as_compilers_write_it():
    (note,) = notes([result_of(broke())])
    assert in_plain(note) == ("counter.py:8: error: broke[it-adds]: it adds (R1); wanted 3; got 4")


def test_the_log_on_github_obeys_nothing_between_the_tokens():
    path = "x\n::error::forged\n##[error]a.py"
    lines = list(run_log([result_of(broke(), path=path)], ["::add-mask::x"], token="T0"))
    assert lines[0] == "::stop-commands::T0"
    assert lines[1:4] == [
        "passed over: ::add-mask::x",
        "x; ::error::forged; #\\x23[error]a.py (counter): 1 broke.  Strong no hire: nothing that "
        "was asked for works.",
        "::T0::",
    ]
    assert lines[4].startswith("::error file=x%0A%3A%3Aerror%3A%3Aforged%0A##[error]a.py,line=8,")
    assert len(lines) == 5
    assert not any("\n" in line for line in lines)


def test_elsewhere_the_log_has_no_commands():
    assert list(run_log([result_of(held(), not_assessed())], [])) == [
        "counter.py (counter): 1 held, 1 not assessed.  Hire: part of the round was not assessed "
        "(1 of 2 checks)."
    ]


def test_a_branch_without_answers_is_told_how_to_give_one():
    assert list(run_log([], [])) == [
        "This branch answers no problem. An answer is a file called SLUG.py or SLUG/solution.py, "
        "or one that solutions.toml lists."
    ]


def test_the_summary_begins_with_a_table():
    page = summary([result_of(held()), result_of(broke(), path="b.py")], ["rope.py: a link"])
    assert page.startswith(
        "# Coding round\n\n| file | problem | level | checks |\n|---|---|---|---|\n"
        "| `counter.py` | Counter | **Strong hire** | 1 held |\n"
        "| `b.py` | Counter | **Strong no hire** | 1 broke |\n\n"
        "Passed over:\n\n- `rope.py: a link`\n\n## Strong hire: Counter\n"
    )
    assert "987654321" not in page


def test_names_of_files_stay_code_in_the_summary():
    plain = tokens(summary([result_of(held(), path="plain")], ["plain"]))
    for text in HOSTILE:
        assert tokens(summary([result_of(held(), path=text)], [text])) == plain


def test_a_summary_is_never_too_long_to_be_shown():
    results = [result_of(broke(got="x" * 300_000)) for _ in range(4)]
    page = summary(results, [])
    assert len(page) < 1000
    assert page.endswith("\nThe scorecards are too long for this page; they are among the files.\n")
