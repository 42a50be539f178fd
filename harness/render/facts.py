"""What a panel reads beside the findings: facts, questions, and how to do it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from harness.render.checks import heaviest_first
from harness.render.limits import in_words
from harness.render.own_tests import own_tests_in_words
from harness.render.source import longest_function
from harness.results import HELD, Result

MOST_QUESTIONS = 5  # from the checks; a conversation has room for no more
FEWEST_QUESTIONS = 3
OPEN_QUESTIONS = (
    "Which other design was considered, and what decided against it?",
    "How were assumptions and trade-offs put into words?",
)


def facts(result: Result) -> Iterator[tuple[str, str]]:
    sitting, tests, file = result.sitting, result.own_tests, result.submission
    if sitting is not None:
        used = "not noted" if sitting.minutes is None else f"{sitting.minutes:.0f}"
        yield "time", f"{used} of {result.problem.minutes} minutes"
        yield "checks run", str(sitting.checks)
        yield "hints", str(sitting.hints)
    else:
        yield "time", "not noted"
    if tests is not None:
        yield "own tests", own_tests_in_words(tests)
    yield "file", f"{file.lines:,} lines, {file.bytes:,} bytes"
    longest = longest_function(file.source)
    if longest is not None:
        yield (
            "longest function",
            f"{longest.name}, {longest.length} lines (from line {longest.first})",
        )
    examples = sum(check.examples for check in result.checks)
    yield "examples", f"{examples:,} in {result.run.seconds:.0f} s"


def questions(result: Result) -> list[str]:
    broken = [check.ask for check in heaviest_first(result)]
    held = [check.ask for check in result.checks if check.status == HELD]
    asked = list(dict.fromkeys(broken))[:MOST_QUESTIONS]
    more = [ask for ask in dict.fromkeys(held) if ask not in asked]
    return asked + more[: max(0, FEWEST_QUESTIONS - len(asked))]


def reproduce(result: Result) -> Iterator[tuple[str, str]]:
    run, file = result.run, result.submission
    yield "command", command(result)
    yield "seed", str(run.seed)
    yield "harness", f"{run.harness}, suite {result.problem.suite_sha256[:16]}"
    yield "file", f"{file.path}, sha256 {file.sha256[:16]}"
    yield "ran in", run.isolation
    yield "with", ", ".join(f"{key} {value}" for key, value in run.worker.items())
    yield "limits", in_words(run.limits)
    yield "started", f"{run.started}, {run.restarts} workers restarted"


def command(result: Result) -> str:
    """The command that grades the same file in the same way."""
    run = result.run
    words = ["harness", "check", result.problem.slug, result.submission.path]
    words += ["--backend", run.backend, "--seed", str(run.seed), "--budget", run.budget]
    if run.device != "cpu":
        words += ["--device", run.device]
    return shlex.join(words)
