"""The result on a terminal: 80 plain columns, the verdict and the next command last."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from harness.render.checks import counts, heaviest_first
from harness.render.limits import in_words
from harness.render.own_tests import own_tests_in_words
from harness.render.plain import unheeded
from harness.results import BROKE, HELD, NOT_ASSESSED, Check, Finding, OwnTests, Result

WIDTH = 80
COLOURS = {HELD: "32", BROKE: "31", NOT_ASSESSED: "33"}
LABEL_WIDTH = 10
SHORT = {NOT_ASSESSED: "n/a"}


def header(slug: str, title: str, minutes: int) -> str:
    """The first line: printed before anything slow happens."""
    return f"{slug}   {title}   {minutes} min"


def check_line(check: Check, *, colour: bool) -> str:
    """One line a check: how it went, and the sentence that should be true."""
    word = _painted(f"{SHORT.get(check.status, check.status):5}", check.status, colour)
    text = check.claim + (f" ({check.reason})" if check.reason else "")
    lines = textwrap.wrap(text, WIDTH - 9, break_long_words=False) or [""]
    return "\n".join([f"  {word}  {lines[0]}", *(" " * 9 + line for line in lines[1:])])


def findings(result: Result, *, every: bool, colour: bool) -> str:
    """The heaviest finding in full, or every one."""
    broken = heaviest_first(result)
    shown = broken if every else broken[:1]
    return "\n".join("\n".join(finding_lines(check, colour=colour)) for check in shown)


def finding_lines(check: Check, *, colour: bool = False, asked: bool = True) -> Iterator[str]:
    """One finding in full: the claim, the script, wanted and got, why, what is asked next."""
    yield from map(unheeded, _finding_lines(check, colour=colour, asked=asked))


def _finding_lines(check: Check, *, colour: bool, asked: bool) -> Iterator[str]:
    head = f"broke[{check.id}]: {check.claim} ({check.requirement})"
    yield from textwrap.wrap(_painted(head, BROKE, colour), WIDTH, subsequent_indent="  ")
    yield ""
    if check.finding is not None:
        yield from (f"    {line}" for line in (*check.finding.imports, *check.finding.script))
        if check.finding.script:
            yield ""
        yield from _facts(check.finding)
    yield from _labelled("why", check.why)
    if asked:
        yield from _labelled("asked", check.ask)
    yield ""


def _facts(finding: Finding) -> Iterator[str]:
    yield from _labelled("wanted", finding.wanted)
    yield from _labelled("got", finding.got)
    if finding.line:
        yield from _labelled("line", f"{finding.line}: {finding.code}")
    if finding.printed:
        yield from _labelled("printed", finding.printed)


def _labelled(label: str, text: str) -> Iterator[str]:
    """A label and its text; values are wrapped, never cut."""
    lines = textwrap.wrap(
        text, WIDTH - LABEL_WIDTH, break_long_words=False, break_on_hyphens=False
    ) or [""]
    yield f"  {label:<{LABEL_WIDTH - 2}}{lines[0]}"
    yield from (" " * LABEL_WIDTH + line for line in lines[1:])


def summary(result: Result, *, next_command: str) -> str:
    """The last lines: counts, the level with its reasons, and the next command."""
    reasons = "; ".join(result.reasons)
    text = f"{counts(result)}.  {result.level}"
    lines = textwrap.wrap(
        f"{text}: {reasons}." if reasons else f"{text}.",
        WIDTH,
        break_long_words=False,
        break_on_hyphens=False,
    )
    if result.could_not_grade:
        lines += textwrap.wrap(
            f"could not grade: {result.could_not_grade}. Your code was not judged", WIDTH
        )
    return "\n".join([*lines, f"Next: {result.remedy or next_command}"])


def own_tests(tests: OwnTests) -> str:
    """What the candidate's own tests see."""
    text = f"own tests: {unheeded(own_tests_in_words(tests))}"
    return textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="    ",
                         break_on_hyphens=False)  # fmt: skip


def footer(result: Result) -> str:
    """Where it ran and with which seed, for whoever has to do it again."""
    run = result.run
    text = f"{run.isolation}; seed {run.seed}, budget {run.budget}, {run.seconds:.1f} s"
    lines = (text, f"limits: {in_words(run.limits)}")
    return "\n".join(
        textwrap.fill(line, WIDTH, initial_indent="  ", subsequent_indent="  ") for line in lines
    )


def _painted(text: str, status: str, colour: bool) -> str:
    return f"\x1b[{COLOURS[status]}m{text}\x1b[0m" if colour else text
