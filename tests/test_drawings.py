"""Pictures drawn: well-formed SVG inside its frame, with words for those who do not see it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from harness.render.drawings import drawing_of
from harness.render.svg import WIDTH
from harness.suite import pictures

HOSTILE = "<script>&\"'"
POOL = pictures.block_pool(
    {"a": [0, 1], HOSTILE: [0, 2]}, {"a": 6, HOSTILE: 6}, num_blocks=20, block_size=4, marked=[0]
)
PICTURES = {
    "pool": POOL,
    "empty pool": pictures.block_pool({}, {}, num_blocks=0, block_size=1),
    "timeline": pictures.timeline(
        {HOSTILE: [("runs", "16")] * 30, "b": [("waits", ""), ("stops", ""), ("", "")]},
        marked=[("b", 1)],
    ),
    "empty timeline": pictures.timeline({}),
    "distribution": pictures.distribution({HOSTILE: 0.5, "b": 0.5}, {"b": 1.0}, draws=9),
    "empty distribution": pictures.distribution({}, {}, draws=0),
    "errors": pictures.errors([0.0, 1e-9, 3.0, float("nan")], 1e-6, along=HOSTILE),
    "all zero": pictures.errors([0.0], 0.0, along="token"),
    "grid": pictures.grid([[1, 0], [1, 1]], [[1, 1], [0, 1]], rows=HOSTILE, columns="key"),
    "wide grid": pictures.grid([[1] * 40], [[0] * 40], rows="query", columns="key"),
    "empty grid": pictures.grid([], [], rows="query", columns="key"),
}


@pytest.mark.parametrize("picture", PICTURES.values(), ids=PICTURES)
def test_a_drawing_is_well_formed_and_stays_in_its_frame(picture):
    drawing = drawing_of(picture)
    assert drawing is not None
    root = ElementTree.fromstring(drawing.svg)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    assert width == WIDTH
    for mark in root:
        assert mark.tag in ("rect", "line", "text")
        across = float(mark.get("x", mark.get("x2", 0))) + float(mark.get("width", 0))
        down = float(mark.get("y", mark.get("y2", 0))) + float(mark.get("height", 0))
        assert -1 <= across <= width + 1
        assert -1 <= down <= height + 1


@pytest.mark.parametrize("picture", PICTURES.values(), ids=PICTURES)
def test_a_drawing_has_words(picture):
    drawing = drawing_of(picture)
    assert drawing is not None
    root = ElementTree.fromstring(drawing.svg)
    assert root.attrib["role"] == "img"
    assert len(root.attrib["aria-label"]) > 10
    assert drawing.caption.endswith((".", ")."))


def test_the_label_of_a_pool_counts_its_blocks():
    drawing = drawing_of(POOL)
    assert drawing is not None
    assert ElementTree.fromstring(drawing.svg).attrib["aria-label"] == (
        "Block pool: 3 of 20 blocks held"
    )


@pytest.mark.parametrize(
    "picture",
    [
        None,
        {},
        {"kind": "hologram"},
        {"kind": "grid"},
        POOL | {"num_blocks": -1},
        POOL | {"blocks": "many"},
        pictures.errors([1.0] * 96, 1.0, along="token") | {"values": [1.0] * 97},
    ],
)
def test_what_fits_no_kind_is_not_drawn(picture):
    assert drawing_of(picture) is None


def test_nothing_that_stands_in_a_picture_is_obeyed():
    drawing = drawing_of(pictures.errors([1.0], 1.0, along="a\u202eb\x1b<b>"))
    assert drawing is not None
    assert "a\\u202eb\\x1b&lt;b&gt;" in drawing.svg


@pytest.mark.parametrize("field", ["values", "allowed"])
def test_errors_that_nobody_can_have_are_drawn_all_the_same(field):
    assert drawing_of(pictures.errors([1.0], 1.0, along="token") | {field: [-1.0]}) is not None
