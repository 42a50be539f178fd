"""Which problems a branch answers, and with which files."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path, PurePosixPath

from harness.branch.changes import Changed
from harness.problems import Problem

LIST = "solutions.toml"
PACK_FOLDERS = ("graders", "problems", "solutions")  # suites and references, never answers
ALONE = "solution.py"  # in a folder with the problem's name


class BadList(Exception):
    """`solutions.toml` cannot be used; says which entry and why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A file of the branch that answers a problem; its path is from the top of the branch."""

    problem: Problem
    path: str


@dataclass(frozen=True, slots=True)
class Found:
    """The answers, and what was passed over with the reason."""

    answers: list[Answer] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)


def among(changed: Iterable[Changed], problems: list[Problem]) -> Found:
    """The answers among changed files: `SLUG.py` anywhere, or `SLUG/solution.py`."""
    by_slug = {problem.slug: problem for problem in problems}
    found = Found()
    for change in sorted(changed, key=lambda change: change.path):
        path = PurePosixPath(change.path)
        slug = path.parent.name if path.name == ALONE else path.stem
        if slug not in by_slug or (path.suffix != ".py" and change.is_file):
            continue
        if path.parts[0] in PACK_FOLDERS:
            found.passed_over.append(f"{path}: {path.parts[0]}/ holds no answers")
        elif not change.is_file:
            found.passed_over.append(f"{path}: a link or submodule, not a file")
        else:
            found.answers.append(Answer(by_slug[slug], change.path))
    return found


def listed(path: Path, problems: list[Problem]) -> Found:
    """The answers that `solutions.toml` names: a table `[solutions]` of slugs to files."""
    by_slug = {problem.slug: problem for problem in problems}
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadList(f"{path.name} cannot be read: {error}") from None
    table = document.get("solutions")
    if not isinstance(table, dict) or not table:
        raise BadList(f'{path.name} has no table\n  [solutions]\n  SLUG = "path/to/answer.py"')
    answers = []
    for slug, name in table.items():
        if slug not in by_slug:
            close = get_close_matches(slug, by_slug, n=1, cutoff=0.5)
            hint = f"there is one with a close name: {close[0]}" if close else "see harness list"
            raise BadList(f"{path.name} names a problem {slug!r} that there is not\n  {hint}")
        answers.append(Answer(by_slug[slug], _inside(path, slug, name)))
    return Found(answers)


def _inside(listing: Path, slug: str, name: object) -> str:
    """A file of the branch itself: no way out of it, by dots or by links."""
    if not isinstance(name, str):
        raise BadList(f"{listing.name}: {slug} is {name!r}\n  it should be the path of a file")
    top = listing.parent.resolve()
    path = PurePosixPath(name)
    if "\0" in name or path.is_absolute() or (top / path).resolve() != top / path:
        raise BadList(f"{listing.name}: {slug} is {name!r}\n  name a file in this folder, no link")
    return name
