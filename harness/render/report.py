"""What a report says, computed once from the result: HTML and Markdown only lay it out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from harness.render.checks import counts, heaviest_first
from harness.render.drawings import drawing_of
from harness.render.facts import facts, questions, reproduce
from harness.render.source import Line, excerpt
from harness.render.svg import Drawing
from harness.results import HELD, KINDS, Check, Finding, Result

TITLES = {
    "invariant": ("Invariants", "hold after every call"),
    "behaviour": ("Behaviours", "what was asked for"),
    "edge": ("Edges", "legal but unkind"),
    "cost": ("Costs", "how the work grows"),
}


class Audience(Enum):
    """Who reads: a candidate sees claims and scripts, a panel also seeds, facts and questions."""

    CANDIDATE = "candidate"
    PANEL = "panel"


@dataclass(frozen=True, slots=True)
class Group:
    """The checks of one kind."""

    title: str
    meaning: str
    checks: list[Check]

    @property
    def count(self) -> str:
        held = sum(check.status == HELD for check in self.checks)
        return f"{held} of {len(self.checks)} held"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of the file; `seen_in` is the number of an earlier finding that shows them, or 0."""

    lines: list[Line]
    seen_in: int


@dataclass(frozen=True, slots=True)
class Shown:
    """One way in which checks broke; `others` broke in the same way as `check`."""

    check: Check
    others: list[Check]
    finding: Finding
    excerpts: list[Excerpt]
    drawing: Drawing | None

    @property
    def script(self) -> str:
        return "\n".join([*self.finding.imports, *self.finding.script])


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a report shows, in the order it shows it."""

    result: Result
    audience: Audience
    expects: str  # what the problem says of this level
    groups: list[Group]
    findings: list[Shown]
    facts: list[tuple[str, str]]
    questions: list[str]
    reproduce: list[tuple[str, str]]

    @property
    def for_panel(self) -> bool:
        return self.audience is Audience.PANEL

    @property
    def level(self) -> str:
        return self.result.level

    @property
    def reasons(self) -> list[str]:
        return [why for why in self.result.reasons if why != self.result.could_not_grade]

    @property
    def counts(self) -> str:
        return counts(self.result)

    @property
    def path(self) -> str:
        return self.result.submission.path

    def place(self, check: Check) -> int:
        """The number of the finding that shows a check; 0 when there is none."""
        for number, shown in enumerate(self.findings, start=1):
            if check is shown.check or any(check is other for other in shown.others):
                return number
        return 0


def report_of(result: Result, audience: Audience) -> Report:
    """The report for one audience."""
    for_panel = audience is Audience.PANEL
    return Report(
        result=result,
        audience=audience,
        expects=result.problem.expects.get(result.level, ""),
        groups=_groups(result.checks),
        findings=findings(result),
        facts=list(facts(result)) if for_panel else [],
        questions=questions(result) if for_panel else [],
        reproduce=list(reproduce(result)) if for_panel else [],
    )


def findings(result: Result) -> list[Shown]:
    """The findings, heaviest first; checks that broke in the same place share one."""
    alike: dict[object, list[Check]] = {}
    for check in heaviest_first(result):
        if check.finding is not None:
            alike.setdefault(_place(check.finding) or check.id, []).append(check)
    shown: list[Shown] = []
    for checks in alike.values():
        shown.append(_shown(result, checks, shown))
    return shown


def _place(finding: Finding) -> tuple[str, int, str] | None:
    """Where and how it broke; none when the finding names no line."""
    return (finding.fault, finding.line, finding.got) if finding.line else None


def _shown(result: Result, checks: list[Check], before: list[Shown]) -> Shown:
    finding = checks[0].finding
    assert finding is not None
    blocks = excerpt(result.submission.source, calls=finding.calls, line=finding.line)
    excerpts = [Excerpt(lines, _seen_in(lines, before)) for lines in blocks if lines]
    return Shown(checks[0], checks[1:], finding, excerpts, drawing_of(finding.picture))


def _seen_in(lines: list[Line], before: list[Shown]) -> int:
    for number, shown in enumerate(before, start=1):
        if any(one.lines == lines and not one.seen_in for one in shown.excerpts):
            return number
    return 0


def _groups(checks: list[Check]) -> list[Group]:
    by_kind = {kind: [check for check in checks if check.kind == kind] for kind in KINDS}
    return [Group(*TITLES[kind], found) for kind, found in by_kind.items() if found]
