"""The files of a CI run: results, JUnit, the summary page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from harness.render.junit import junit
from harness.render.summary import summary
from harness.results import Result, to_json
from harness.whole_files import write_whole


def write_files(out: Path, results: list[Result], passed_over: list[str]) -> None:
    """Write them into a folder, and the summary to where GitHub shows it too.

    Raises `OSError`. A file that the branch made a link of is replaced, not followed.
    """
    page = summary(results, passed_over).encode("utf-8", "replace")
    if not out.exists():
        out.mkdir(parents=True)
        write_whole(out / ".gitignore", b"*\n")  # so that it becomes no part of the branch
    write_whole(out / "junit.xml", junit(results))
    write_whole(out / "summary.md", page)
    for name, result in _named(results):
        write_whole(out / name, to_json(result))
    shown = os.environ.get("GITHUB_STEP_SUMMARY")
    if shown:
        with Path(shown).open("ab") as handle:
            handle.write(page)


def _named(results: list[Result]) -> Iterator[tuple[str, Result]]:
    """SLUG.json, and SLUG-2.json for a second answer to the same problem."""
    seen: dict[str, int] = {}
    for result in results:
        slug = result.problem.slug
        seen[slug] = seen.get(slug, 0) + 1
        yield (f"{slug}.json" if seen[slug] == 1 else f"{slug}-{seen[slug]}.json"), result
