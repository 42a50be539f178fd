"""Documents of ours as JSON: how they are written, and the schema that is published for them."""

from __future__ import annotations

import json
from typing import Any

import msgspec


def written(document: msgspec.Struct) -> bytes:
    """A document, indented, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def json_schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a kind of document."""
    schema = msgspec.json.schema(kind)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return schema


def schema_text(kind: type[msgspec.Struct]) -> str:
    """The schema as its file in `docs/` holds it."""
    return json.dumps(json_schema(kind), indent=2, sort_keys=True) + "\n"
