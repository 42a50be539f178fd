"""What branches hand in, in scratch repositories of every awkward kind."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.branch.handed_in import NoBranches, in_branches
from tests.commands.running import RIGHT, harness
from tests.test_changes import commit, git

SLUGS = frozenset({"counter", "rope"})
HANDED_OUT = {"README.md": "hello\n", "notes/a.txt": "a\n"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose main branch has two files that nobody hands in."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--initial-branch", "main")
    commit(folder, HANDED_OUT)
    return folder


def branch(repository: Path, name: str, files: dict[str, str]) -> None:
    git(repository, "checkout", "-b", name, "main")
    commit(repository, files)
    git(repository, "checkout", "main")


def found(repository: Path, *patterns: str) -> tuple[list[tuple[str, str, bytes]], list[str]]:
    entries, puzzles = in_branches(repository, patterns, SLUGS)
    return (
        [(one.candidate, one.slug, one.source) for one in entries],
        [f"{puzzle.origin}: {puzzle.why}" for puzzle in puzzles],
    )


def raw_tree(repository: Path, name: str, lines: list[str]) -> str:
    """A branch with a tree that no checkout would make."""

    def asked(*arguments: str, given: str = "") -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=Ada", "-c", "user.email=a@b.org", *arguments],
            cwd=repository, input=given, text=True, check=True, capture_output=True,
        )  # fmt: skip
        return done.stdout.strip()

    tree = asked("mktree", "--missing", given="".join(f"{line}\n" for line in lines))
    made = asked("commit-tree", "-m", "change", tree)
    git(repository, "update-ref", f"refs/heads/{name}", made)
    return tree


def test_a_branch_a_candidate_and_nothing_is_checked_out(repository: Path) -> None:
    branch(repository, "take-home/ada", {"rope.py": "x = 1\n", "deep/er/counter.py": "y = 2\n"})
    branch(repository, "take-home/bob", {"rope.py": "x = 3\n", "README.md": "of mine\n"})
    branch(repository, "other", {"rope.py": "x = 4\n"})
    assert found(repository, "take-home/*") == (
        [("ada", "counter", b"y = 2\n"), ("ada", "rope", b"x = 1\n"), ("bob", "rope", b"x = 3\n")],
        ["take-home/ada: passed over: README.md", "take-home/bob: passed over: README.md"],
    )
    assert sorted(path.name for path in repository.iterdir()) == [".git", "README.md", "notes"]


def test_a_bare_repository_and_branches_of_a_remote(repository: Path, tmp_path: Path) -> None:
    branch(repository, "take-home/ada", {"rope.py": "x = 1\n"})
    branch(repository, "take-home/bob", {"rope.py": "x = 2\n"})
    ada, bob = ("ada", "rope", b"x = 1\n"), ("bob", "rope", b"x = 2\n")
    git(tmp_path, "clone", "--bare", str(repository), "bare")
    assert found(tmp_path / "bare", "take-home/*") == ([ada, bob], [])
    git(tmp_path, "clone", str(repository), "clone")
    assert found(tmp_path / "clone", "origin/take-home/*") == ([ada, bob], [])
    assert found(tmp_path / "clone", "origin/take-home/ada", "origin/take-home/b*")[0] == [ada, bob]
    with pytest.raises(NoBranches) as refused:
        found(tmp_path / "clone", "take-home/*")
    assert str(refused.value).startswith(
        f"no branch of {tmp_path / 'clone'} is called 'take-home/*'\n"
    )


def test_odd_branches_are_names_and_nothing_else(repository: Path) -> None:
    names = ["a$(touch${IFS}x)", "b`id`", "c;d|e&f", "<b>g</b>", "h'\"i", "ß—日本", "%2e%2e"]
    for name in names:
        git(repository, "update-ref", f"refs/heads/in/{name}", "main")
    git(repository, "update-ref", "refs/heads/-x", "main")
    raw_tree(repository, "in/empty", [])
    entries, why = found(repository, "in/*", "-x")
    assert entries == []
    assert sorted(why) == sorted(
        [f"in/{name}: no file for any problem: README.md, notes/a.txt" for name in names]
        + ["-x: no file for any problem: README.md, notes/a.txt"]
        + ["in/empty: no file for any problem"]
    )


def test_a_name_with_a_line_end_of_another_kind_is_one_name(repository: Path) -> None:
    for end in ("\u0085", "\u2028", "\u2029"):
        branch(repository, f"in/ada{end}b", {"rope.py": "x = 1\n"})
    entries, why = found(repository, "in/*")
    assert [(slug, source) for _, slug, source in entries] == [("rope", b"x = 1\n")] * 3
    assert why == []
    assert len({candidate for candidate, _, _ in entries}) == 3


def test_links_submodules_suites_and_what_is_too_large_are_named(repository: Path) -> None:
    (repository / "counter.py").symlink_to("/etc/passwd")
    files = {"graders/rope.py": "x = 1\n", "a/rope.py": "x = 'a'\n" * 200_000, "main.py": "1\n"}
    branch(repository, "ada", files | {"b/rope.py": "version https://git-lfs.github.com/spec/v1\n"})
    raw_tree(repository, "bob", [f"160000 commit {'1' * 40}\trope.py"])
    entries, why = found(repository, "ada", "bob")
    assert entries == []
    assert why == [
        "ada:counter.py: a link; links are not followed",
        "ada:graders/rope.py: graders/ holds no answers",
        "ada:a/rope.py: has 1,600,000 bytes; a submission has at most 1,048,576",
        "ada:b/rope.py: a pointer of Git LFS, not the file; nothing is fetched",
        "ada: passed over: main.py, README.md, notes/a.txt",
        "bob:rope.py: a submodule; nothing is fetched",
        "bob: no file for any problem",
    ]


def test_a_second_file_for_a_problem_and_text_that_is_none(repository: Path) -> None:
    branch(repository, "ada", {"a/rope.py": "x = 1\n", "b/rope.py": "x = 2\n", "counter.py": "\0"})
    assert found(repository, "ada") == (
        [("ada", "rope", b"x = 1\n")],
        [
            "ada:b/rope.py: a second file for rope; ada:a/rope.py was taken",
            "ada:counter.py: it is a binary file",
            "ada: passed over: README.md, notes/a.txt",
        ],
    )


def test_a_tree_of_a_few_bytes_with_a_thousand_million_files_is_named(repository: Path) -> None:
    branch(repository, "ada", {"rope.py": "x = 1\n"})
    tree = raw_tree(repository, "bob", [f"160000 commit {'1' * 40}\tf{n}" for n in range(10)])
    for _ in range(9):
        tree = raw_tree(repository, "bob", [f"040000 tree {tree}\td{n}" for n in range(10)])
    entries, why = found(repository, "ada", "bob")
    assert entries == [("ada", "rope", b"x = 1\n")]
    assert "bob: more than 50,000 files" in why


def test_what_git_lost_takes_no_other_answer_with_it(repository: Path) -> None:
    raw_tree(repository, "ada", [f"100644 blob {'1' * 40}\trope.py"])
    raw_tree(repository, "bob", [f"040000 tree {'1' * 40}\tdeep"])
    branch(repository, "zoe", {"rope.py": "x = 1\n"})
    entries, why = found(repository, "ada", "bob", "zoe")
    assert entries == [("zoe", "rope", b"x = 1\n")]
    assert "ada:rope.py: git does not have its text, or cannot read it" in why
    assert "bob: git cannot read its files" in why


def test_a_repository_cannot_make_git_run_something(repository: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    script.chmod(0o755)
    branch(repository, "ada", {"rope.py": "x = 1\n", ".gitattributes": "*.py filter=x diff=x\n"})
    raw_tree(repository, "bob", [f"100644 blob {'1' * 40}\trope.py"])
    settings = ("core.fsmonitor", "core.sshCommand", "filter.x.smudge", "filter.x.clean",
                "filter.x.process", "diff.x.textconv", "core.pager", "core.alternateRefsCommand",
                "alias.cat-file", "remote.origin.uploadpack")  # fmt: skip
    for setting in settings:
        git(repository, "config", setting, str(script))
    for setting, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": f"ext::{script}",
        "remote.origin.promisor": "true",
        "protocol.ext.allow": "always",
    }.items():
        git(repository, "config", setting, value)
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        (repository / ".git" / "hooks" / hook).write_text(script.read_text())
        (repository / ".git" / "hooks" / hook).chmod(0o755)
    assert found(repository, "ada", "bob")[0] == [("ada", "rope", b"x = 1\n")]
    assert not (tmp_path / "ran").exists()


def test_the_command_shows_and_grades_what_branches_hand_in(tmp_path: Path) -> None:
    repository = tmp_path / "r"
    repository.mkdir()
    git(repository, "init", "--initial-branch", "main")
    commit(repository, HANDED_OUT)
    branch(repository, "in/ada", {"tally.py": RIGHT})
    arguments = ("grade", "r", "--branches", "in/*", "--out", "out", "--backend", "local")
    code, shown, _ = harness(*arguments, "--dry-run", folder=tmp_path)
    assert (code, shown.splitlines()) == (
        0,
        [
            "1 submissions of 1 candidates",
            "      1 tally",
            "1 not understood",
            "  in/ada: passed over: README.md, notes/a.txt",
        ],
    )
    assert not (tmp_path / "out").exists()
    code, shown, _ = harness(*arguments, folder=tmp_path)
    assert code == 0
    assert "1 of 1 graded." in shown
    code, _, errors = harness("grade", "out", "--branches", "x", "--out", "o2", folder=tmp_path)
    assert code == 2
    assert "out cannot be read as a git repository: fatal: not a git repository" in errors
