"""The result of one graded submission: one versioned document, from which every report is made."""

from __future__ import annotations

from typing import Any

import msgspec

VERSION = 1

HELD = "held"
BROKE = "broke"
NOT_ASSESSED = "not assessed"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """How one check broke: the smallest script, wanted and got, in the candidate's units."""

    fault: str  # "wrong answer", "raised", "crashed", "hung", ...
    script: list[str]
    imports: list[str]
    wanted: str
    got: str
    line: int = 0  # in the candidate's file; 0 when the fault names none
    code: str = ""
    printed: str = ""  # the head of what the candidate's code printed, when the process was lost
    repeats: bool = True  # the script alone, in a fresh process, gives the same answers
    picture: dict[str, Any] | None = None


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check of the suite and how it went. `reason` says why it was not assessed."""

    id: str
    kind: str
    requirement: str
    claim: str
    why: str
    ask: str
    status: str
    reason: str = ""
    finding: Finding | None = None
    examples: int = 0
    seconds: float = 0.0


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Which problem was graded, and with which suite."""

    slug: str
    title: str
    topic: str
    minutes: int
    suite_sha256: str


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """Which file was graded."""

    path: str
    sha256: str
    bytes: int
    lines: int


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """How it was graded: enough to do it again."""

    harness: str
    backend: str
    isolation: str
    device: str
    seed: int
    budget: str
    worker: dict[str, str]
    limits: dict[str, float]
    restarts: int
    started: str
    seconds: float


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A graded submission. `level` and `reasons` follow from `checks` alone."""

    version: int
    problem: Problem
    submission: Submission
    run: Run
    checks: list[Check]
    level: str
    reasons: list[str]
    could_not_grade: str = ""
    remedy: str = ""


class WrongVersion(Exception):
    """The document is not a result this version can read."""


def to_json(result: Result) -> bytes:
    """The document, indented, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"


def from_json(raw: bytes) -> Result:
    """Read a document; raise `WrongVersion` with what is wrong."""
    try:
        loose = msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise WrongVersion(f"not JSON: {error}") from None
    version = loose.get("version") if isinstance(loose, dict) else None
    if version != VERSION:
        raise WrongVersion(f"a result of version {version!r}; this harness reads version {VERSION}")
    try:
        return msgspec.convert(loose, Result)
    except msgspec.ValidationError as error:
        raise WrongVersion(f"not a result: {error}") from None


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    schema = msgspec.json.schema(Result)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return schema
