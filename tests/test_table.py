"""CSV: a row a check, and nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import re

import pytest

from harness.render.table import table
from tests.results_made import broke, held, not_assessed, result_of


def test_a_row_a_check():
    text = table(result_of(held("one-holds", "invariant"), broke(line=10), not_assessed()))
    assert text == (
        "problem,file,level,check,kind,requirement,status,claim,fault,wanted,got,line,reason,"
        "examples,seconds\r\n"
        "counter,counter.py,Strong no hire,one-holds,invariant,R1,held,one holds,,,,,,60,0.25\r\n"
        "counter,counter.py,Strong no hire,it-adds,behaviour,R1,broke,it adds,wrong answer,3,4,10,"
        ",60,0.25\r\n"
        "counter,counter.py,Strong no hire,it-is-fast,cost,R1,not assessed,it is fast,,,,,"
        "needs a cuda device,60,0.25\r\n"
    )


@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@SUM(A1)", "  =1", "\t=1"])
def test_a_formula_is_text(formula):
    rows = list(csv.DictReader(io.StringIO(table(result_of(broke(got=formula))))))
    assert rows[0]["got"][0] in "'\\"


@pytest.mark.parametrize("ends", ["a;", "a; ", 'a;"', "a\n", "a|", ";;"])
def test_nor_is_it_one_where_another_sign_ends_a_cell(ends):
    for sign in "=+-@＝＋－＠":
        rows = list(csv.DictReader(io.StringIO(table(result_of(broke(got=f"{ends}{sign}1"))))))
        for part in re.split(r"[;|\n]", rows[0]["got"]):
            assert not re.match(r"[ \"]*[=+\-@＝＋－＠]", part)
        assert sign in rows[0]["got"]


def test_text_with_commas_and_lines_comes_back_whole():
    rows = list(csv.DictReader(io.StringIO(table(result_of(broke(got='a,"b"\nc'))))))
    assert rows[0]["got"] == 'a,"b"\nc'
