"""The summary page of a CI run: a table of what was graded, then each scorecard."""

from __future__ import annotations

from harness.render.checks import counts
from harness.render.markdown import cell, markdown, words
from harness.render.report import Audience
from harness.results import Result

MOST_BYTES = 1_000_000  # GitHub takes no summary of a mebibyte or more
NOTHING = (
    "This branch answers no problem. An answer is a file called `SLUG.py` or `SLUG/solution.py`, "
    "or one that `solutions.toml` lists."
)


def summary(results: list[Result], passed_over: list[str]) -> str:
    """The page, for whoever sees the branch: no seeds, no questions. Never too long to be shown."""
    head = _table(results) if results else f"{NOTHING}\n"
    head = f"# Coding round\n\n{head}"
    if passed_over:
        head += "\nPassed over:\n\n" + "".join(f"- {cell(reason)}\n" for reason in passed_over)
    cards = [markdown(result, Audience.CANDIDATE, heading="##") for result in results]
    whole = "\n".join([head, *cards])
    if len(whole.encode("utf-8", "replace")) <= MOST_BYTES:
        return whole
    return f"{head}\nThe scorecards are too long for this page; they are among the files.\n"


def _table(results: list[Result]) -> str:
    rows = [
        f"| {cell(result.submission.path)} | {words(result.problem.title)} "
        f"| **{words(result.level)}** | {counts(result)} |\n"
        for result in results
    ]
    return "| file | problem | level | checks |\n|---|---|---|---|\n" + "".join(rows)
