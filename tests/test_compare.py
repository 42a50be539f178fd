"""Two results side by side."""

from __future__ import annotations

import msgspec
import pytest

from harness.batch.store import Stored
from harness.render.comparison import OtherProblem, compared
from harness.render.side_by_side import side_by_side
from harness.results import Result, to_json
from tests.batch.rounds_made import kept
from tests.commands.running import harness, said
from tests.results_made import broke, held, not_assessed, result_of
from tests.test_html import HOSTILE, round_with


def lines(a: Result, b: Result, *, every: bool = False, names: tuple[str, str] = ("ada", "bob")):
    return list(side_by_side(compared(a, b), names, every=every))


def test_what_differs_is_shown_with_the_heaviest_finding():
    a = result_of(held("one-holds", "invariant"), broke(), held("kind", "edge"), not_assessed())
    b = result_of(broke("one-holds", "invariant"), broke(got="5"), broke("kind", "edge"))
    run = msgspec.structs.replace(b.run, seed=3, budget="full")
    b = msgspec.structs.replace(b, run=run)
    assert lines(a, b) == [
        "counter   Counter",
        "",
        "  A  ada",
        "  B  bob",
        "",
        "                 A                         B",
        "  level          Strong no hire            Strong no hire",
        "  invariants     1 held                    0 held, 1 broke",
        "  behaviours     0 held, 1 broke           0 held, 1 broke",
        "  edges          1 held                    0 held, 1 broke",
        "  costs          0 held, 1 n/a             0 held",
        "  seconds        1.5                       1.5",
        "  lines          15                        15",
        "  graded         2026-01-02T03:04          2026-01-02T03:04",
        "",
        "  A: nothing that was asked for works; part of the round was not assessed (1 of",
        "     4 checks)",
        "  B: nothing that was asked for works; one-holds is a core invariant; 1 of 1",
        "     edge cases broke",
        "",
        "Compare with care: the seeds differ (987654321, 3), and with them the generated",
        "  cases; the budget differs (quick, full); both are the same file",
        "",
        "  A       B",
        "  held    broke   one holds (invariant, R1)",
        "  held    broke   kind (edge, R1)",
        "  n/a     absent  it is fast (cost, R1)",
        "",
        "In B,",
        "broke[one-holds]: one holds (R1)",
        "",
        "    a = Counter(1)",
        "    a.up(2)  # -> 4",
        "",
        "  wanted  3",
        "  got     4",
        "  why     Without it one holds no more.",
        "",
        "3 checks differ; 0 held in both; 1 broke in both, 1 of them in another way.",
        "A: Strong no hire.  B: Strong no hire.",
    ]


def test_every_finding_is_shown_when_asked_for():
    shown = lines(result_of(broke()), result_of(broke(got="5"), broke("other")), every=True)
    heads = [line for line in shown if line.startswith(("In ", "broke["))]
    assert heads == [
        "In B,",
        "broke[other]: other (R1)",
        "In A,",
        "broke[it-adds]: it adds (R1)",
        "In B,",
        "broke[it-adds]: it adds (R1)",
    ]


def test_two_alike_have_nothing_to_show():
    shown = lines(result_of(held(), broke()), result_of(held(), broke()))
    assert shown[-2] == "0 checks differ; 1 held in both; 1 broke in both."
    assert not any(line.startswith("In ") for line in shown)


def test_other_problems_are_not_compared():
    other = result_of(held())
    problem = msgspec.structs.replace(other.problem, slug="rope")
    with pytest.raises(OtherProblem, match="A is of 'counter', B of 'rope'"):
        compared(result_of(held()), msgspec.structs.replace(other, problem=problem))


def test_text_of_a_candidate_is_not_obeyed():
    shown = lines(round_with(HOSTILE), result_of(held()), every=True, names=(HOSTILE, "\x1b[2J"))
    assert all(line.isprintable() for line in shown)


def test_names_are_never_cut():
    shown = lines(result_of(held()), result_of(held()), names=("i" * 200, "bob"))
    assert "".join(line.strip() for line in shown[2:5]) == f"A  {'i' * 200}"
    assert max(map(len, shown)) <= 80


def test_files_of_a_check_and_of_a_round_are_compared(tmp_path):
    kept(tmp_path / "round", [Stored("key", "ada", "ada.py", result_of(held(), broke()))])
    (tmp_path / "later.json").write_bytes(to_json(result_of(held(), held("it-adds"))))
    before = "round/results/ada__counter.json"
    code, out, err = harness("compare", before, "later.json", folder=tmp_path)
    assert (code, err) == (0, "")
    assert f"  A  ada   {before}\n  B  counter.py   later.json\n" in out
    assert out.splitlines()[-2:] == [
        "A: No hire.  B: Strong hire.",
        "Next: harness report later.json",
    ]


def test_what_cannot_be_compared_is_said(tmp_path):
    (tmp_path / "a.json").write_bytes(to_json(result_of(held())))
    problem = msgspec.structs.replace(result_of().problem, slug="rope")
    other = msgspec.structs.replace(result_of(held()), problem=problem)
    (tmp_path / "b.json").write_bytes(to_json(other))
    (tmp_path / "torn.json").write_bytes(b'{"result"')
    code, _, err = harness("compare", "a.json", "b.json", folder=tmp_path)
    assert code == 2
    assert said(err) == "A is of 'counter', B of 'rope'\n  name two results of one problem"
    code, _, err = harness("compare", "a.json", "torn.json", folder=tmp_path)
    assert code == 2
    assert said(err).startswith("torn.json is no result that can be shown: not JSON: ")
