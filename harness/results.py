"""The result of one graded submission: one versioned document, from which every report is made."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from harness.documents import written

VERSION = 1

HELD = "held"
BROKE = "broke"
NOT_ASSESSED = "not assessed"
KINDS = ("invariant", "behaviour", "edge", "cost")  # heaviest first

END = r"$(?!\n)"  # Python's $ alone lets a newline through
Kind = Annotated[str, msgspec.Meta(pattern=f"^({'|'.join(KINDS)}){END}")]
Status = Annotated[str, msgspec.Meta(pattern=f"^({HELD}|{BROKE}|{NOT_ASSESSED}){END}")]
Count = Annotated[int, msgspec.Meta(ge=0)]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """How one check broke: the smallest script, wanted and got, in the candidate's units."""

    fault: str  # "wrong answer", "raised", "crashed", "hung", ...
    script: list[str]
    imports: list[str]
    wanted: str
    got: str
    calls: list[str] = []  # the candidate's functions that the script calls, the last one last
    line: Count = 0  # in the candidate's file; 0 when the fault names none
    code: str = ""
    printed: str = ""  # the head of what the candidate's code printed, when the process was lost
    repeats: bool = True  # the script alone, in a fresh process, gives the same answers
    picture: dict[str, Any] | None = None  # of a kind in harness.suite.pictures


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check of the suite and how it went. `reason` says why it was not assessed."""

    id: str
    kind: Kind
    requirement: str
    claim: str
    why: str
    ask: str
    status: Status
    reason: str = ""
    finding: Finding | None = None
    examples: int = 0
    seconds: float = 0.0


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Which problem was graded, and with which suite.

    `expects` is what a panel expects at each level, in the problem's words: "Hire" to a sentence.
    """

    slug: str
    title: str
    topic: str
    minutes: int
    suite_sha256: str
    expects: dict[str, str] = {}


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """Which file was graded, and its text: a report shows lines of it beside a finding."""

    path: str
    sha256: str
    bytes: int
    lines: int
    source: str = ""


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


class Sitting(msgspec.Struct, frozen=True, kw_only=True):
    """How the candidate got there, as the folder's own notes have it: told, not proven."""

    minutes: float | None  # from `start` to this check; null when `start` was not used
    checks: Count
    hints: Count


class OwnTests(msgspec.Struct, frozen=True, kw_only=True):
    """What the candidate's own tests see, as they claim: advice, never a part of the level.

    Of `mistakes` wrong answers tried, and `of` that there are, they fail `caught`.
    """

    tests: Count
    caught: Count
    mistakes: Count
    of: Count = 0
    refuses: list[str] = []  # right answers that they fail too
    fails: list[str] = []  # tests that the candidate's own file fails
    flaky: bool = False  # two runs on one right answer ended differently
    note: str = ""  # why nothing was counted
    path: str = ""
    sha256: str = ""


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
    sitting: Sitting | None = None
    own_tests: OwnTests | None = None


class WrongVersion(Exception):
    """The document is not a result this version can read."""


def to_json(result: Result) -> bytes:
    """The document that every report is made from; `docs/result.schema.json` is its schema."""
    return written(result)


def from_json(raw: bytes) -> Result:
    """Read a document; raise `WrongVersion` with what is wrong."""
    try:
        loose = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise WrongVersion(f"not JSON: {error}") from None
    version = loose.get("version") if isinstance(loose, dict) else None
    if version != VERSION:
        raise WrongVersion(f"a result of version {version!r}; this harness reads version {VERSION}")
    try:
        return msgspec.convert(loose, Result)
    except msgspec.ValidationError as error:
        raise WrongVersion(f"not a result: {error}") from None
