"""The panel's "testing" line: what the candidate's own tests see, in words."""

from __future__ import annotations

from harness.results import OwnTests


def own_tests_in_words(tests: OwnTests) -> str:
    """One sentence; the counts are what the tests claim of themselves."""
    if tests.note:
        return f"nothing was counted: {tests.note}"
    sampled = f" tried (of {tests.of})" if tests.of > tests.mistakes else ""
    parts = [
        f"{tests.tests} {'test' if tests.tests == 1 else 'tests'}",
        f"they catch {tests.caught} of {tests.mistakes} wrong answers{sampled}",
        _rights(tests),
    ]
    if tests.fails:
        parts.append(f"on the file itself fails {', '.join(tests.fails)}")
    if tests.flaky:
        parts.append("two runs on one answer ended differently")
    return "; ".join(parts)


def _rights(tests: OwnTests) -> str:
    if not tests.refuses:
        return "they reject no right one"
    answers = "right answer" if len(tests.refuses) == 1 else "right answers"
    return f"they reject {len(tests.refuses)} {answers}: {', '.join(tests.refuses)}"
