"""What the branches of a repository hand in: a branch a candidate, read without a checkout."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from subprocess import Popen

from harness.batch.entries import Entry, Found, Puzzle, entry, first_of_each, readable
from harness.branch.answers import PACK_FOLDERS
from harness.branch.changes import LINK, SUBMODULE
from harness.branch.git import git, started, words
from harness.submissions import MAX_SOURCE_BYTES

HEADS, REMOTES = "refs/heads/", "refs/remotes/"
WILD = "*?["
MAX_FILES = 50_000  # on one branch
MAX_LIST_BYTES = 16 * 1024 * 1024
MOST_NAMED = 3
LFS = b"version https://git-lfs.github.com/spec/"


class NoBranches(Exception):
    """There are no branches to read; says why and what to do."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch that was asked for; its candidate is the part of its name that differs."""

    name: str
    candidate: str
    commit: str


@dataclass(frozen=True, slots=True)
class File:
    """A file on a branch, as its tree lists it."""

    path: str
    mode: str
    blob: str


def in_branches(
    repository: Path, patterns: Sequence[str], slugs: frozenset[str]
) -> tuple[list[Entry], list[Puzzle]]:
    """Everything that the branches of these names hold; raise `NoBranches` where there are none.

    `take-home/*` means branches of the repository's own, `origin/take-home/*` those it knows of
    its remote `origin`.
    """
    trees: list[tuple[Branch, list[File]]] = []
    found: list[Found] = []
    for branch in branches(repository, patterns):
        files, refused = _files(repository, branch.commit)
        if refused:
            found.append(Puzzle(branch.name, refused))
        else:
            trees.append((branch, files))
    everywhere = set.intersection(*(set(files) for _, files in trees)) if len(trees) > 1 else set()
    with started(repository, "cat-file", "--batch") as contents:
        for branch, files in trees:
            own = [file for file in files if file not in everywhere or _slug(file) in slugs]
            found += _on_branch(repository, branch, own, slugs, contents)
    return first_of_each(found)


def branches(repository: Path, patterns: Sequence[str]) -> list[Branch]:
    """The branches that the patterns name, each once, in the order of the patterns and names."""
    known = _refs(repository)
    remotes = {ref.split("/")[2] for ref in known if ref.startswith(REMOTES)}
    chosen: dict[str, Branch] = {}
    for pattern in patterns:
        where = REMOTES if pattern.split("/")[0] in remotes else HEADS
        for ref in sorted(known):
            name = ref.removeprefix(where)
            if ref != name and fnmatchcase(name, pattern) and ref not in chosen:
                chosen[ref] = Branch(readable(name), readable(_differs(name, pattern)), known[ref])
    if not chosen:
        raise NoBranches(
            f"no branch of {repository} is called {' or '.join(map(repr, patterns))}\n"
            f"  git -C {repository} branch --all  shows what there is"
        )
    return list(chosen.values())


def _refs(repository: Path) -> dict[str, str]:
    """Every branch with its commit; what only names another is left out."""
    form = "--format=%(refname)%00%(objectname)%00%(objecttype)%00%(symref)"
    try:
        done = git(repository, "for-each-ref", form, HEADS, REMOTES)
    except FileNotFoundError:
        raise NoBranches("there is no git here\n  install git") from None
    except NotADirectoryError:
        raise NoBranches(f"{repository} is a file\n  name the repository's folder") from None
    if done.returncode:
        raise NoBranches(
            f"{repository} cannot be read as a git repository: {words(done.stderr)}\n"
            "  name a repository, or leave --branches out"
        )
    refs = {}
    for line in os.fsdecode(done.stdout).split("\n")[:-1]:  # a name may hold other line ends
        ref, commit, kind, alias = line.split("\0")
        if kind == "commit" and not alias:
            refs[ref] = commit
    return refs


def _differs(name: str, pattern: str) -> str:
    """The name without the folders that the pattern spells out."""
    wild = min((pattern.find(sign) for sign in WILD if sign in pattern), default=len(pattern))
    return name[pattern.rfind("/", 0, wild) + 1 :]


def _files(repository: Path, commit: str) -> tuple[list[File], str]:
    """Every file of a commit, or why there is no saying.

    A tree of a few kilobytes can name more files than there are atoms: no more is read than fits.
    """
    with started(repository, "ls-tree", "-r", "-z", "--full-tree", commit) as listing:
        assert listing.stdout is not None
        raw = listing.stdout.read(MAX_LIST_BYTES + 1)
        if len(raw) > MAX_LIST_BYTES or raw.count(b"\0") > MAX_FILES:
            listing.kill()
            return [], f"more than {MAX_FILES:,} files"
        listing.communicate()
    if listing.returncode:
        return [], "git cannot read its files"
    files = []
    for line in os.fsdecode(raw).split("\0")[:-1]:
        facts, _, path = line.partition("\t")
        mode, _, blob = facts.split(" ")
        files.append(File(readable(path), mode, blob))
    return files, ""


def _on_branch(
    repository: Path,
    branch: Branch,
    files: list[File],
    slugs: frozenset[str],
    contents: Popen[bytes],
) -> Iterator[Found]:
    answers, others = [], []
    for file in files:
        origin = f"{branch.name}:{file.path}"
        top = PurePosixPath(file.path).parts[0]
        if file.mode == LINK:
            yield Puzzle(origin, "a link; links are not followed")
        elif file.mode == SUBMODULE:
            yield Puzzle(origin, "a submodule; nothing is fetched")
        elif _slug(file) not in slugs:
            others.append(file.path)
        elif top in PACK_FOLDERS:
            yield Puzzle(origin, f"{top}/ holds no answers")
        else:
            answers.append(file)
    sizes = _sizes(repository, answers)
    for file, size in zip(answers, sizes, strict=True):
        yield _read(branch, file, size, contents)
    if others or not answers:
        yield Puzzle(branch.name, _passed_over(others, bool(answers)))


def _slug(file: File) -> str:
    path = PurePosixPath(file.path)
    return path.stem if path.suffix == ".py" else ""


def _sizes(repository: Path, files: list[File]) -> list[int | None]:
    """The size of each file's text, asked before it is read; None where git does not have it."""
    if not files:
        return []
    asked = "".join(f"{file.blob}\n" for file in files).encode()
    done = git(repository, "cat-file", "--batch-check=%(objectname) %(objectsize)", given=asked)
    last = [line.rpartition(b" ")[2] for line in done.stdout.splitlines()]
    known = [int(size) if size.isdigit() else None for size in last]
    return (known + [None] * len(files))[: len(files)]


def _read(branch: Branch, file: File, size: int | None, contents: Popen[bytes]) -> Found:
    origin = f"{branch.name}:{file.path}"
    if size is not None and size > MAX_SOURCE_BYTES:
        return Puzzle(origin, f"has {size:,} bytes; a submission has at most {MAX_SOURCE_BYTES:,}")
    source = None if size is None else _content(file.blob, size, contents)
    if source is None:
        return Puzzle(origin, "git does not have its text, or cannot read it")
    if source.startswith(LFS):
        return Puzzle(origin, "a pointer of Git LFS, not the file; nothing is fetched")
    return entry(branch.candidate, _slug(file), origin, source)


def _content(blob: str, size: int, contents: Popen[bytes]) -> bytes | None:
    """What `git cat-file --batch` answers for one blob; None when it gave up."""
    assert contents.stdin is not None and contents.stdout is not None
    try:
        contents.stdin.write(f"{blob}\n".encode())
        contents.stdin.flush()
    except BrokenPipeError:
        return None
    if contents.stdout.readline().split() != [blob.encode(), b"blob", str(size).encode()]:
        return None
    source = contents.stdout.read(size)
    return source if len(source) == size and contents.stdout.read(1) == b"\n" else None


def _passed_over(others: list[str], has_answers: bool) -> str:
    """One line a branch: a repository has many files that nobody hands in."""
    if not others:
        return "no file for any problem"
    first = sorted(others, key=lambda path: (not path.endswith(".py"), path))[:MOST_NAMED]
    rest = f" and {len(others) - MOST_NAMED:,} more" if len(others) > MOST_NAMED else ""
    named = ", ".join(first) + rest
    return f"passed over: {named}" if has_answers else f"no file for any problem: {named}"
