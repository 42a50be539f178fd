"""The document: what is written is read back; what is no result is refused with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from harness.documents import json_schema, schema_text
from harness.results import Result, WrongVersion, from_json, to_json
from tests.results_made import broke, held, not_assessed, result_of

PUBLISHED = Path(__file__).parent.parent / "docs" / "result.schema.json"


def test_a_document_is_read_back_as_it_was_written():
    result = result_of(held(), broke(), not_assessed())
    assert from_json(to_json(result)) == result


def test_the_published_schema_is_the_one_in_use():
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(Result), (
        "write it anew: python -c 'from harness.documents import schema_text; "
        'from harness.results import Result; print(schema_text(Result), end="")\' '
        "> docs/result.schema.json"
    )


def test_a_document_fits_the_published_schema():
    jsonschema.validate(json.loads(to_json(result_of(held(), broke()))), json_schema(Result))


WHOLE = to_json(result_of(held(), broke()))
REFUSED = {
    "empty": (b"", "not JSON: Input data was truncated"),
    "truncated": (WHOLE[:300], "not JSON: Input data was truncated"),
    "nested without end": (
        b"[" * 200_000,
        "not JSON: maximum recursion depth exceeded while deserializing an object",
    ),
    "not text": (b"\xff\xd8", "not JSON: JSON is malformed: invalid character (byte 0)"),
    "a list": (b"[]", "a result of version None; this harness reads version 1"),
    "foreign": (b'{"stats": {}}', "a result of version None; this harness reads version 1"),
    "newer": (
        WHOLE.replace(b'"version": 1', b'"version": 2'),
        "a result of version 2; this harness reads version 1",
    ),
    "only a version": (
        b'{"version": 1}',
        "not a result: Object missing required field `problem`",
    ),
    "an unknown kind": (
        WHOLE.replace(b'"kind": "behaviour"', b'"kind": "wish"'),
        "not a result: Expected `str` matching regex "
        "'^(invariant|behaviour|edge|cost)$(?!\\\\n)' - at `$.checks[0].kind`",
    ),
    "a kind with a newline": (
        WHOLE.replace(b'"kind": "behaviour"', b'"kind": "edge\\n"'),
        "not a result: Expected `str` matching regex "
        "'^(invariant|behaviour|edge|cost)$(?!\\\\n)' - at `$.checks[0].kind`",
    ),
}


@pytest.mark.parametrize(("raw", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_a_result_is_refused_with_the_reason(raw, reason):
    with pytest.raises(WrongVersion) as refused:
        from_json(raw)
    assert str(refused.value) == reason
