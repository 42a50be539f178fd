"""What a report says, computed once from the result: HTML and Markdown only lay it out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from harness.render.drawings import drawing_of
from harness.render.source import Line, excerpt, longest_function
from harness.render.svg import Drawing
from harness.results import BROKE, HELD, KINDS, NOT_ASSESSED, Check, Finding, OwnTests, Result

TITLES = {
    "invariant": ("Invariants", "hold after every call"),
    "behaviour": ("Behaviours", "what was asked for"),
    "edge": ("Edges", "legal but unkind"),
    "cost": ("Costs", "how the work grows"),
}
MOST_QUESTIONS = 5  # from the checks; a conversation has room for no more
FEWEST_QUESTIONS = 3
LINES_ON_PAPER = 110  # what two pages leave to the findings
LINES_OF_A_PICTURE = 24
CHARS_OF_A_ROW = 70
OPEN_QUESTIONS = (
    "Which other design was considered, and what decided against it?",
    "How were assumptions and trade-offs put into words?",
)


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
class Shown:
    """One way in which checks broke; `others` broke in the same way as `check`."""

    check: Check
    others: list[Check]
    finding: Finding
    excerpt: list[list[Line]]
    seen_in: int  # the number of an earlier finding that shows the same lines; 0 when none does
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
        facts=list(_facts(result)) if for_panel else [],
        questions=_questions(result) if for_panel else [],
        reproduce=list(_reproduce(result)) if for_panel else [],
    )


def counts(result: Result) -> str:
    """How many checks held, broke and were not assessed."""
    numbers = [
        f"{count} {status}"
        for status in (HELD, BROKE, NOT_ASSESSED)
        if (count := sum(check.status == status for check in result.checks))
    ]
    return ", ".join(numbers) or "nothing ran"


def heaviest_first(result: Result) -> list[Check]:
    """The broken checks, by how much they weigh."""
    broken = [check for check in result.checks if check.status == BROKE]
    return sorted(broken, key=lambda check: KINDS.index(check.kind))


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


def on_paper(shown: list[Shown]) -> int:
    """How many findings in full fit on two pages beside the rest."""
    room = LINES_ON_PAPER
    for number, one in enumerate(shown):
        lines = 0 if one.seen_in else sum(map(len, one.excerpt))
        picture = LINES_OF_A_PICTURE if one.drawing else 0
        room -= 4 + max(_rows_of_words(one), lines + picture)
        if room < 0:
            return max(number, 1)
    return len(shown)


def _rows_of_words(shown: Shown) -> int:
    """The rows that the calls, the answers and why it matters take in half a page's width."""
    finding, check = shown.finding, shown.check
    texts = [finding.wanted, finding.got, finding.code, finding.printed, check.why, check.ask]
    return sum(1 + len(text) // CHARS_OF_A_ROW for text in [*finding.script, *texts])


def _place(finding: Finding) -> tuple[str, int, str] | None:
    """Where and how it broke; none when the finding names no line."""
    return (finding.fault, finding.line, finding.got) if finding.line else None


def _shown(result: Result, checks: list[Check], before: list[Shown]) -> Shown:
    finding = checks[0].finding
    assert finding is not None
    lines = excerpt(result.submission.source, calls=finding.calls, line=finding.line)
    seen_in = next((n for n, one in enumerate(before, start=1) if one.excerpt == lines), 0)
    drawing = drawing_of(finding.picture)
    return Shown(checks[0], checks[1:], finding, lines, seen_in, drawing)


def _groups(checks: list[Check]) -> list[Group]:
    by_kind = {kind: [check for check in checks if check.kind == kind] for kind in KINDS}
    return [Group(*TITLES[kind], found) for kind, found in by_kind.items() if found]


def _facts(result: Result) -> Iterator[tuple[str, str]]:
    sitting, tests, file = result.sitting, result.own_tests, result.submission
    if sitting is not None:
        used = "not noted" if sitting.minutes is None else f"{sitting.minutes:.0f}"
        yield "time", f"{used} of {result.problem.minutes} minutes"
        yield "checks run", str(sitting.checks)
        yield "hints", str(sitting.hints)
    else:
        yield "time", "not noted"
    if tests is not None:
        yield "own tests", _own_tests(tests)
    yield "file", f"{file.lines:,} lines, {file.bytes:,} bytes"
    longest = longest_function(file.source)
    if longest is not None:
        yield (
            "longest function",
            f"{longest.name}, {longest.length} lines (from line {longest.first})",
        )
    examples = sum(check.examples for check in result.checks)
    yield "examples", f"{examples:,} in {result.run.seconds:.0f} s"


def _own_tests(tests: OwnTests) -> str:
    seen = f"{tests.tests}; they catch {tests.caught} of {tests.mistakes} wrong answers"
    if not tests.refuses:
        return seen
    return f"{seen}, and refuse {len(tests.refuses)} right: {', '.join(tests.refuses)}"


def _questions(result: Result) -> list[str]:
    broken = [check.ask for check in heaviest_first(result)]
    held = [check.ask for check in result.checks if check.status == HELD]
    asked = list(dict.fromkeys(broken))[:MOST_QUESTIONS]
    more = [ask for ask in dict.fromkeys(held) if ask not in asked]
    return asked + more[: max(0, FEWEST_QUESTIONS - len(asked))]


def _reproduce(result: Result) -> Iterator[tuple[str, str]]:
    run, file = result.run, result.submission
    yield "command", command(result)
    yield "seed", str(run.seed)
    yield "harness", f"{run.harness}, suite {result.problem.suite_sha256[:16]}"
    yield "file", f"{file.path}, sha256 {file.sha256[:16]}"
    yield "ran in", run.isolation
    yield "with", ", ".join(f"{key} {value}" for key, value in run.worker.items())
    yield "limits", ", ".join(_limit(key, value) for key, value in run.limits.items())
    yield "started", f"{run.started}, {run.restarts} workers restarted"


def _limit(key: str, value: float) -> str:
    """A limit in words, by the unit its name ends in."""
    name, _, unit = key.rpartition("_")
    if unit == "bytes":
        return f"{name} {value / 2**20:,.0f} MiB"
    return f"{name} {value:g} {unit}"


def command(result: Result) -> str:
    """The command that grades the same file in the same way."""
    run = result.run
    words = ["harness", "check", result.problem.slug, result.submission.path]
    words += ["--backend", run.backend, "--seed", str(run.seed), "--budget", run.budget]
    if run.device != "cpu":
        words += ["--device", run.device]
    return shlex.join(words)
