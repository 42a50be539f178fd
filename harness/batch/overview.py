"""A round as one document: who was graded on what, and how each check went.

Computed once from the results; the page, the tables and the CSV are pure functions of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from harness.batch.store import Stored, file_stem
from harness.documents import written
from harness.results import BROKE, HELD, KINDS, NOT_ASSESSED, Count, Kind, Result, Status

VERSION: Literal[1] = 1


class CheckShown(msgspec.Struct, frozen=True, kw_only=True):
    """One check of a problem's suite."""

    id: str
    kind: Kind
    requirement: str
    claim: str


class ProblemShown(msgspec.Struct, frozen=True, kw_only=True):
    """A problem of the round; `suites` are the digests it was graded with, one if all is well."""

    slug: str
    title: str
    suites: list[str]
    checks: list[CheckShown]  # heaviest kinds first, then in the suite's order


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One submission. `checks` is how each went; `broken` counts the broken ones by kind."""

    candidate: str
    problem: str
    level: str
    reasons: list[str]
    could_not_grade: str
    checks: dict[str, Status]
    held: Count
    broke: Count
    not_assessed: Count
    broken: dict[str, Count]
    seconds: float
    file_sha256: str
    scorecard: str  # the file name of its page


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a submission was graded."""

    harness: str
    backend: str
    isolation: str
    device: str
    seed: int
    budget: str


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The round. One entry in `settings` when all were graded alike; `left_out` says what could
    not be read and why. Submissions are by candidate and problem: their order ranks nobody.
    """

    version: Literal[1]
    blind: bool
    settings: list[Settings]
    problems: list[ProblemShown]
    submissions: list[Row]
    left_out: list[str]

    @property
    def candidates(self) -> list[str]:
        return list(dict.fromkeys(row.candidate for row in self.submissions))

    def of(self, problem: ProblemShown) -> list[Row]:
        """The submissions to one problem."""
        return [row for row in self.submissions if row.problem == problem.slug]


def overview_of(
    graded: Iterable[Stored], left_out: Iterable[str] = (), *, blind: bool = False
) -> Overview:
    """The round that these results make, in their order."""
    results = list(graded)
    by_slug: dict[str, list[Result]] = {}
    for stored in results:
        by_slug.setdefault(stored.result.problem.slug, []).append(stored.result)
    return Overview(
        version=VERSION,
        blind=blind,
        settings=list(dict.fromkeys(_settings(stored.result) for stored in results)),
        problems=[_problem(by_slug[slug]) for slug in sorted(by_slug)],
        submissions=[_row(stored) for stored in results],
        left_out=list(left_out),
    )


def _settings(result: Result) -> Settings:
    run = result.run
    return Settings(
        harness=run.harness,
        backend=run.backend,
        isolation=run.isolation,
        device=run.device,
        seed=run.seed,
        budget=run.budget,
    )


def _problem(results: list[Result]) -> ProblemShown:
    checks: dict[str, CheckShown] = {}
    for result in results:
        for check in result.checks:
            checks.setdefault(
                check.id,
                CheckShown(
                    id=check.id, kind=check.kind, requirement=check.requirement, claim=check.claim
                ),
            )
    return ProblemShown(
        slug=results[0].problem.slug,
        title=results[0].problem.title,
        suites=list(dict.fromkeys(result.problem.suite_sha256 for result in results)),
        checks=sorted(checks.values(), key=lambda check: KINDS.index(check.kind)),
    )


def _row(stored: Stored) -> Row:
    result = stored.result
    how = [check.status for check in result.checks]
    broken = [check.kind for check in result.checks if check.status == BROKE]
    slug = result.problem.slug
    return Row(
        candidate=stored.candidate,
        problem=slug,
        level=result.level,
        reasons=[why for why in result.reasons if why != result.could_not_grade],
        could_not_grade=result.could_not_grade,
        checks={check.id: check.status for check in result.checks},
        held=how.count(HELD),
        broke=how.count(BROKE),
        not_assessed=how.count(NOT_ASSESSED),
        broken={kind: broken.count(kind) for kind in KINDS},
        seconds=result.run.seconds,
        file_sha256=result.submission.sha256,
        scorecard=f"{file_stem(stored.candidate, slug)}.html",
    )


def to_json(overview: Overview) -> bytes:
    """The document of a round; `docs/round.schema.json` is its schema."""
    return written(overview)
