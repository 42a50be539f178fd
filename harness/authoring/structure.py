"""What can be seen of a problem without running an answer: texts, checks, edits that fit."""

from __future__ import annotations

from dataclasses import dataclass

from harness.authoring.claims import claims_of
from harness.authoring.wrong import Wrong, read_wrong
from harness.problems import BadPack, Problem
from harness.suite.claims import Claim

LEAST_WRONG = 10
LEAST_RIGHT = 2


@dataclass(frozen=True, slots=True)
class Complaint:
    """Something about a problem or its suite that is not as it should be."""

    what: str
    words: str


def structure(problem: Problem) -> list[Complaint]:
    """What can be seen without running an answer: texts, requirements, checks, edits that fit."""
    claims, wrongs = claims_of(problem), read_wrong(problem)
    requirements = problem.requirements()
    found = [
        *(
            Complaint("statement", f"{r} has no check")
            for r in requirements
            if r not in {claim.requirement for claim in claims}
        ),
        *(
            Complaint(c.id, f"{c.requirement} is not in the statement")
            for c in claims
            if c.requirement not in requirements
        ),
        *(
            Complaint(c.id, "no wrong answer names it")
            for c in claims
            if c.id not in {wrong.caught_by for wrong in wrongs}
        ),
        *(
            Complaint(c.id, f"it has no {part}")
            for c in claims
            for part in ("text", "why", "ask")
            if not getattr(c, part)
        ),
        *(
            Complaint(w.name, f"there is no check {w.caught_by}")
            for w in wrongs
            if w.caught_by not in {claim.id for claim in claims}
        ),
    ]
    return found + _missing_parts(problem, wrongs, claims) + _edits_that_do_not_fit(problem, wrongs)


def _missing_parts(problem: Problem, wrongs: list[Wrong], claims: list[Claim]) -> list[Complaint]:
    found = [
        Complaint(path.name, f"{path} is missing")
        for path in (problem.statement, problem.stub, problem.hints, problem.reference)
        if not path.is_file()
    ]
    if len(wrongs) < LEAST_WRONG:
        found.append(
            Complaint("wrong.toml", f"{len(wrongs)} wrong answers; at least {LEAST_WRONG}")
        )
    if len(problem.right) < LEAST_RIGHT:
        found.append(
            Complaint("right/", f"{len(problem.right)} other right answers; at least {LEAST_RIGHT}")
        )
    if len({claim.id for claim in claims}) != len(claims):
        found.append(Complaint("suite", "two checks have one name"))
    return found


def _edits_that_do_not_fit(problem: Problem, wrongs: list[Wrong]) -> list[Complaint]:
    reference = problem.reference.read_text(encoding="utf-8")
    found = []
    for wrong in wrongs:
        try:
            compile(wrong.source(reference), wrong.name, "exec")
        except (BadPack, SyntaxError) as error:
            found.append(Complaint(wrong.name, str(error)))
    return found
