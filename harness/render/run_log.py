"""What a CI run prints: a line an answer, then the findings on their lines."""

from __future__ import annotations

from collections.abc import Iterator

from harness.render.annotations import for_github, in_plain, notes
from harness.render.checks import counts
from harness.render.plain import one_line, unheeded
from harness.render.summary import NOTHING
from harness.results import Result


def run_log(results: list[Result], passed_over: list[str], *, token: str = "") -> Iterator[str]:
    """The lines. With a token they are for GitHub, which obeys a line that begins with `::`.

    Nothing that a file's name or a finding says is obeyed before the token comes again; after it
    only the annotations do, each escaped.
    """
    if token:
        yield f"::stop-commands::{token}"
    yield from _plain_lines(results, passed_over)
    if token:
        yield f"::{token}::"
    write = for_github if token else in_plain
    yield from (write(note) for note in notes(results))


def _plain_lines(results: list[Result], passed_over: list[str]) -> Iterator[str]:
    for reason in passed_over:
        yield unheeded(one_line(f"passed over: {reason}"))
    for result in results:
        reasons = f": {'; '.join(result.reasons)}" if result.reasons else ""
        place = f"{result.submission.path} ({result.problem.slug})"
        yield unheeded(one_line(f"{place}: {counts(result)}.  {result.level}{reasons}."))
        if result.remedy:
            yield unheeded(one_line(f"  {result.remedy}"))
    if not results:
        yield NOTHING.replace("`", "")
