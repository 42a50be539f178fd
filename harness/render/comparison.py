"""Two results of one problem, compared: what differs, and what was not the same for both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.render.report import TITLES
from harness.results import BROKE, HELD, KINDS, NOT_ASSESSED, Check, Result

ABSENT = "absent"  # the suite of one result has no such check


class OtherProblem(Exception):
    """The two results are of different problems."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One check in both results; None where a suite has no such check."""

    a: Check | None
    b: Check | None

    @property
    def either(self) -> Check:
        one = self.a or self.b
        assert one is not None
        return one

    @property
    def statuses(self) -> tuple[str, str]:
        return (self.a.status if self.a else ABSENT, self.b.status if self.b else ABSENT)

    @property
    def differs(self) -> bool:
        return self.statuses[0] != self.statuses[1]

    @property
    def broke_otherwise(self) -> bool:
        """Whether it broke in both, each in its own way."""
        return self.statuses == (BROKE, BROKE) and _way(self.a) != _way(self.b)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two results and their checks in pairs, heaviest kinds first."""

    a: Result
    b: Result
    pairs: list[Pair]

    @property
    def differing(self) -> list[Pair]:
        return [pair for pair in self.pairs if pair.differs]

    def both(self, status: str) -> list[Pair]:
        """The pairs that went this way in both."""
        return [pair for pair in self.pairs if pair.statuses == (status, status)]

    @property
    def told_apart(self) -> list[Pair]:
        """What differs, then what broke on both sides in different ways."""
        return [*self.differing, *(pair for pair in self.pairs if pair.broke_otherwise)]

    @property
    def findings(self) -> list[tuple[str, Check]]:
        """What broke on one side alone, then what broke on both in different ways."""
        sides = [
            (letter, check) for p in self.told_apart for letter, check in (("A", p.a), ("B", p.b))
        ]
        return [(letter, check) for letter, check in sides if check and check.status == BROKE]


def compared(a: Result, b: Result) -> Comparison:
    """The two laid side by side; raises `OtherProblem`."""
    if a.problem.slug != b.problem.slug:
        raise OtherProblem(f"A is of {a.problem.slug!r}, B of {b.problem.slug!r}")
    left, right = ({check.id: check for check in one.checks} for one in (a, b))
    pairs = [Pair(left.get(name), right.get(name)) for name in left | right]
    pairs.sort(key=lambda pair: KINDS.index(pair.either.kind))
    return Comparison(a, b, pairs)


def facts(a: Result, b: Result) -> Iterator[tuple[str, str, str]]:
    """A label and what it is on each side."""
    yield "level", a.level, b.level
    for kind, (title, _) in TITLES.items():
        if any(check.kind == kind for check in (*a.checks, *b.checks)):
            yield title.lower(), _held(a, kind), _held(b, kind)
    yield "seconds", f"{a.run.seconds:.1f}", f"{b.run.seconds:.1f}"
    yield "lines", f"{a.submission.lines:,}", f"{b.submission.lines:,}"
    yield "graded", a.run.started[:16], b.run.started[:16]


def careful(a: Result, b: Result) -> Iterator[str]:
    """What was not the same for both."""
    run_a, run_b = a.run, b.run
    if a.problem.suite_sha256 != b.problem.suite_sha256:
        yield "the suites differ, so a check may ask for something else"
    if run_a.seed != run_b.seed:
        yield f"the seeds differ ({run_a.seed}, {run_b.seed}), and with them the generated cases"
    for what in ("budget", "backend", "device", "harness"):
        left, right = getattr(run_a, what), getattr(run_b, what)
        if left != right:
            yield f"the {what} differs ({left}, {right})"
    if a.submission.sha256 == b.submission.sha256:
        yield "both are the same file"


def counted(comparison: Comparison) -> str:
    """How many checks differ, and how many do not."""
    differing, broke = len(comparison.differing), comparison.both(BROKE)
    other = sum(pair.broke_otherwise for pair in broke)
    words = [f"{differing} check{'s differ' if differing != 1 else ' differs'}"]
    words.append(f"{len(comparison.both(HELD))} held in both")
    words.append(
        f"{len(broke)} broke in both{f', {other} of them in another way' if other else ''}"
    )
    if missing := len(comparison.both(NOT_ASSESSED)):
        words.append(f"{missing} not assessed in both")
    return "; ".join(words) + "."


def _held(result: Result, kind: str) -> str:
    how = [check.status for check in result.checks if check.kind == kind]
    broke = f", {how.count(BROKE)} broke" if BROKE in how else ""
    missing = f", {how.count(NOT_ASSESSED)} n/a" if NOT_ASSESSED in how else ""
    return f"{how.count(HELD)} held{broke}{missing}"


def _way(check: Check | None) -> tuple[str, str, str] | None:
    finding = check.finding if check else None
    return (finding.fault, finding.wanted, finding.got) if finding else None
