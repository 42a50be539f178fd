"""Which files a branch changed, by git's own plumbing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.branch.git import git, without_filters, words

LINK, SUBMODULE = "120000", "160000"
GUESSES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


class CannotCompare(Exception):
    """What the branch changed cannot be known; says why and what to do."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A file that the branch added, changed or renamed, under its name now."""

    path: str  # from the top of the repository
    mode: str

    @property
    def is_file(self) -> bool:
        return self.mode not in (LINK, SUBMODULE)


def top_of(folder: Path) -> Path:
    """The top folder of the repository; raise `CannotCompare` where there is none."""
    try:
        done = git(folder, "rev-parse", "--show-toplevel")
    except FileNotFoundError:
        raise CannotCompare(
            "there is no git here\n  list the answers in solutions.toml, or install git"
        ) from None
    if done.returncode:
        raise CannotCompare(_without_repository(done.stderr))
    return Path(os.fsdecode(done.stdout.rstrip(b"\n")))


def _without_repository(complaint: bytes) -> str:
    if b"dubious ownership" in complaint:
        return (
            "git does not trust this folder: another user owns it\n"
            '  git config --global --add safe.directory "$PWD"'
        )
    return "this is no git repository\n  list the answers in solutions.toml"


def changes(top: Path, base: str | None, environment: Mapping[str, str]) -> list[Changed]:
    """What HEAD and the files in the folder have that the base does not."""
    named = base or _from_environment(environment) or _guessed(top)
    start = _merge_base(top, named)
    arguments = ["--raw", "-z", "--find-renames", "--no-ext-diff", "--no-textconv"]
    # A submodule has settings of its own: no git is to run in it.
    arguments.append("--ignore-submodules=dirty")
    done = git(top, "diff", *arguments, start, "--", settings=without_filters(top))
    if done.returncode:
        raise CannotCompare(f"git cannot compare with {named}: {words(done.stderr)}")
    return list(_parsed(os.fsdecode(done.stdout)))


def brings(place: Path) -> bool:
    """Whether the branch checked out in this folder holds files in a place."""
    try:
        done = git(Path.cwd(), "--literal-pathspecs", "ls-files", "-z", "--", str(place))
    except FileNotFoundError:
        return False
    return bool(done.stdout)


def _from_environment(environment: Mapping[str, str]) -> str:
    """The base that a CI server names."""
    if environment.get("GITHUB_BASE_REF"):
        return f"origin/{environment['GITHUB_BASE_REF']}"
    if environment.get("CI_MERGE_REQUEST_DIFF_BASE_SHA"):
        return environment["CI_MERGE_REQUEST_DIFF_BASE_SHA"]
    branch = environment.get("CI_DEFAULT_BRANCH")
    return f"origin/{branch}" if branch else ""


def _guessed(top: Path) -> str:
    for name in GUESSES:
        if _commit(top, name):
            return name
    raise CannotCompare("there is no main branch to compare with\n  name it with --base")


def _merge_base(top: Path, base: str) -> str:
    """The commit where the branch left its base."""
    if not _commit(top, "HEAD"):
        raise CannotCompare("there is no commit yet\n  commit the answer first")
    if not _commit(top, base):
        raise CannotCompare(f"there is no commit called {base!r} here\n  {_fetch(top)}")
    done = git(top, "merge-base", base, "HEAD")
    if done.returncode:
        if _is_shallow(top):
            raise CannotCompare(
                f"the clone is too shallow to see where the branch left {base}\n  {_fetch(top)}"
            )
        raise CannotCompare(
            f"the branch has no commit in common with {base}\n"
            "  name another with --base, or list the answers in solutions.toml"
        )
    return done.stdout.decode("ascii").strip()


def _fetch(top: Path) -> str:
    if _is_shallow(top):
        return "git fetch --unshallow (on GitHub fetch-depth: 0, on GitLab GIT_DEPTH: 0)"
    return "fetch it, or name another with --base"


def _is_shallow(top: Path) -> bool:
    return git(top, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"


def _commit(top: Path, name: str) -> bool:
    if name.startswith("-"):
        return False
    return not git(top, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").returncode


def _parsed(raw: str) -> Iterator[Changed]:
    """Lines of `git diff --raw -z`: modes, hashes and a letter, then one path or two."""
    fields = iter(raw.split("\0"))
    for field in fields:
        if not field:
            return
        _, mode, _, _, letter = field.split(" ")
        path = next(fields)
        if letter[0] in "RC":
            path = next(fields)
        if letter[0] != "D":
            yield Changed(path, mode)
