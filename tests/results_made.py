"""Small results for tests of everything that reads them."""

from __future__ import annotations

from typing import Any

from harness import scorecard
from harness.results import BROKE, HELD, NOT_ASSESSED, Check, Finding, Problem, Result, Run
from harness.results import Submission as SubmissionFacts

SOURCE = '''"""A counter."""


class Counter:
    def __init__(self, start):
        self.count = start

    def up(self, by):
        if by < 0:
            raise ValueError("down")
        self.count += by
        return self.count


def fresh(): return Counter(0)
'''


def check(
    name: str = "it-counts", kind: str = "behaviour", status: str = HELD, **more: Any
) -> Check:
    """A check, held unless said otherwise."""
    words = name.replace("-", " ")
    return Check(
        id=name,
        kind=kind,
        requirement="R1",
        claim=words,
        why=f"Without it {words} no more.",
        ask=f"How is it that {words}?",
        status=status,
        examples=60,
        seconds=0.25,
        **more,
    )


def held(name: str = "it-counts", kind: str = "behaviour") -> Check:
    return check(name, kind)


def broke(name: str = "it-adds", kind: str = "behaviour", **finding: Any) -> Check:
    """A broken check; the finding's fields may be given."""
    return check(name, kind, BROKE, finding=found(**finding))


def found(**fields: Any) -> Finding:
    default: dict[str, Any] = {
        "fault": "wrong answer",
        "script": ["a = Counter(1)", "a.up(2)  # -> 4"],
        "imports": [],
        "wanted": "3",
        "got": "4",
        "calls": ["Counter", "up"],
    }
    return Finding(**(default | fields))


def not_assessed(
    name: str = "it-is-fast", kind: str = "cost", reason: str = "needs a cuda device"
) -> Check:
    return check(name, kind, NOT_ASSESSED, reason=reason)


def result_of(
    *checks: Check, source: str = SOURCE, path: str = "counter.py", **more: Any
) -> Result:
    """A result with these checks and the level they give."""
    could_not_grade = more.get("could_not_grade", "")
    verdict = scorecard.judge(list(checks), could_not_grade)
    return Result(
        version=1,
        problem=Problem(
            slug="counter",
            title="Counter",
            topic="Tests",
            minutes=30,
            suite_sha256="5" * 64,
            expects=more.pop("expects", {}),
        ),
        submission=SubmissionFacts(
            path=path,
            sha256="a" * 64,
            bytes=len(source.encode()),
            lines=source.count("\n"),
            source=source,
        ),
        run=Run(
            harness="0.1.0",
            backend="local",
            isolation="local worker",
            device="cpu",
            seed=987654321,
            budget="quick",
            worker={"python": "3.11.7"},
            limits={"call_s": 10.0},
            restarts=0,
            started="2026-01-02T03:04:05+00:00",
            seconds=1.5,
        ),
        checks=list(checks),
        level=verdict.level,
        reasons=verdict.reasons,
        **more,
    )
