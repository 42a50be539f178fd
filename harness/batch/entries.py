"""Which submissions a folder holds: what was found, and what was not understood and why."""

from __future__ import annotations

import csv
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.batch.archives import ARCHIVES, BadArchive, members
from harness.submissions import BadSubmission, check_text, read_submission

FLAT = re.compile(r"(?P<candidate>.+)__(?P<slug>[a-z0-9_]+)\.py")
MAX_DEPTH = 16
MAX_FILES = 5000  # of one candidate
IGNORED = (".git", "__pycache__", ".DS_Store", ".harness.json")


@dataclass(frozen=True, slots=True)
class Entry:
    """One submission: whose, for which problem, where it was found, its bytes."""

    candidate: str
    slug: str
    origin: str
    source: bytes


@dataclass(frozen=True, slots=True)
class Puzzle:
    """Something in the folder that is no submission, and why."""

    origin: str
    why: str


Found = Entry | Puzzle


def find_entries(place: Path, slugs: frozenset[str]) -> tuple[list[Entry], list[Puzzle]]:
    """Everything in a folder, an archive of folders, or a CSV, in a fixed order.

    A folder or archive a candidate with one file a problem (`ada/rope.py`), flat files
    (`ada__rope.py`), or a CSV with the columns candidate, problem, file.
    """
    if place.suffix == ".csv" and place.is_file():
        found: Iterable[Found] = _from_csv(place, slugs)
    else:
        found = _from_folder(place, slugs)
    return first_of_each(found)


def first_of_each(found: Iterable[Found]) -> tuple[list[Entry], list[Puzzle]]:
    """One entry a candidate and problem: the first; another one is a puzzle."""
    entries: dict[tuple[str, str], Entry] = {}
    puzzles = []
    for item in found:
        if isinstance(item, Puzzle):
            puzzles.append(item)
        elif (item.candidate, item.slug) in entries:
            first = entries[item.candidate, item.slug].origin
            puzzles.append(Puzzle(item.origin, f"a second file for {item.slug}; {first} was taken"))
        else:
            entries[item.candidate, item.slug] = item
    return [entries[key] for key in sorted(entries)], puzzles


def readable(name: str) -> str:
    """A name of the file system as text that can be written everywhere: bytes that are no UTF-8
    are spelled out.
    """
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def entry(candidate: str, slug: str, origin: str, source: bytes) -> Found:
    """Bytes that were read somewhere as a submission, if they are text."""
    try:
        check_text(source, "it")
    except BadSubmission as error:
        return Puzzle(origin, str(error).partition("\n")[0])
    return Entry(candidate, slug, origin, source)


def _from_folder(folder: Path, slugs: frozenset[str]) -> Iterator[Found]:
    for path in sorted(folder.iterdir()):
        if path.name in IGNORED:
            continue
        kind = _kind(path)
        if kind == "folder":
            yield from _of_candidate(path, slugs)
        elif kind == "file" and path.name.endswith(ARCHIVES):
            yield from _from_archive(path, slugs)
        elif kind == "file" and path.suffix == ".py":
            yield from _flat(path, slugs)
        else:
            yield Puzzle(_shown(path), kind if kind != "file" else "neither Python nor an archive")


def _kind(path: Path) -> str:
    """What a path is, without following a link or opening a pipe."""
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if stat.S_ISLNK(mode):
        return "a link; links are not followed"
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "not an ordinary file"


def _of_candidate(folder: Path, slugs: frozenset[str]) -> Iterator[Found]:
    """The files of one candidate, as deep and as many as anybody hands in."""
    paths, refused = _walk(folder)
    if refused:
        yield Puzzle(_shown(folder), refused)
        return
    for path in sorted(paths):
        if set(path.parts) & set(IGNORED):
            continue
        kind = _kind(path)
        if kind != "file":
            yield Puzzle(_shown(path), kind)
        elif path.suffix == ".py" and path.stem in slugs:
            yield _read(folder.name, path.stem, path)
        else:
            yield Puzzle(_shown(path), _why_not(path.name, slugs))


def _walk(folder: Path) -> tuple[list[Path], str]:
    """Every file below a folder, or why there is no saying. Links to folders are passed over."""
    found: list[Path] = []
    left = [(folder, 0)]
    while left:
        inside, depth = left.pop()
        try:
            for entry in os.scandir(inside):
                if not entry.is_dir(follow_symlinks=False):
                    found.append(Path(entry.path))
                elif depth < MAX_DEPTH:
                    left.append((Path(entry.path), depth + 1))
                else:
                    return [], f"folders more than {MAX_DEPTH} deep"
                if len(found) + len(left) > MAX_FILES:
                    return [], f"more than {MAX_FILES:,} files"
        except OSError as error:
            return [], f"cannot be read: {error.strerror}"
    return found, ""


def _flat(path: Path, slugs: frozenset[str]) -> Iterator[Found]:
    match = FLAT.fullmatch(path.name)
    if match is None:
        yield Puzzle(_shown(path), "not named candidate__problem.py")
    elif match["slug"] not in slugs:
        yield Puzzle(_shown(path), f"no problem called {match['slug']}")
    else:
        yield _read(match["candidate"], match["slug"], path)


def _from_archive(path: Path, slugs: frozenset[str]) -> Iterator[Found]:
    candidate = readable(path.name)
    for ending in ARCHIVES:
        candidate = candidate.removesuffix(ending)
    if not candidate:
        yield Puzzle(_shown(path), "an archive without a name")
        return
    try:
        for name, source in members(path):
            file = Path(name)
            if file.suffix == ".py" and file.stem in slugs:
                yield entry(candidate, file.stem, _shown(path, name), source)
            else:
                yield Puzzle(_shown(path, name), _why_not(file.name, slugs))
    except BadArchive as error:
        yield Puzzle(_shown(path), str(error))


def _from_csv(path: Path, slugs: frozenset[str]) -> Iterator[Found]:
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            rows = list(csv.DictReader(handle))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        yield Puzzle(_shown(path), f"cannot be read: {error}")
        return
    for number, row in enumerate(rows, start=2):
        candidate, slug, file = (row.get(key) or "" for key in ("candidate", "problem", "file"))
        where = f"{path}, line {number}"
        if not (candidate and slug and file):
            yield Puzzle(where, "wants the columns candidate, problem, file")
        elif slug not in slugs:
            yield Puzzle(where, f"no problem called {slug}")
        else:
            yield _read(candidate, slug, path.parent / file)


def _read(candidate: str, slug: str, path: Path) -> Found:
    try:
        return Entry(readable(candidate), slug, _shown(path), read_submission(path))
    except BadSubmission as error:
        return Puzzle(_shown(path), str(error).partition("\n")[0])


def _shown(path: Path, member: str = "") -> str:
    return readable(f"{path}:{member}" if member else str(path))


def _why_not(name: str, slugs: frozenset[str]) -> str:
    if not name.endswith(".py"):
        return "not a Python file"
    return f"no problem called {name.removesuffix('.py')} among {len(slugs)}"
