"""What a branch changed, in scratch repositories of every awkward kind."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.branch.changes import CannotCompare, Changed, changes, top_of

FILE, LINK, SUBMODULE = "100644", "120000", "160000"


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(
        ["git", *identity, "-c", "protocol.file.allow=always", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
    )


def commit(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--message", "change")


@pytest.fixture
def repository(tmp_path):
    """A repository with a commit on main, on a branch that has none of its own yet."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--initial-branch", "main")
    commit(folder, {"README.md": "hello\n", "old.py": "a = 1\n" * 20})
    git(folder, "checkout", "-b", "answer")
    return folder


def test_a_branch_changed_what_it_added_and_edited_and_not_what_main_did(repository):
    commit(repository, {"counter.py": "x = 1\n", "README.md": "hello again\n"})
    git(repository, "checkout", "main")
    commit(repository, {"rope.py": "on main\n"})
    git(repository, "checkout", "answer")
    assert changes(repository, "main", {}) == [
        Changed("README.md", FILE),
        Changed("counter.py", FILE),
    ]


def test_a_renamed_file_has_its_new_name(repository):
    git(repository, "mv", "old.py", "counter.py")
    git(repository, "commit", "--message", "rename")
    assert changes(repository, "main", {}) == [Changed("counter.py", FILE)]


def test_a_deleted_file_is_no_change_to_grade(repository):
    git(repository, "rm", "old.py")
    git(repository, "commit", "--message", "remove")
    assert changes(repository, "main", {}) == []


def test_names_with_every_odd_character_come_whole(repository):
    name = "a b/ü\t\"'\n$x.py"
    commit(repository, {name: "x = 1\n"})
    assert changes(repository, "main", {}) == [Changed(name, FILE)]


def test_a_link_and_a_submodule_are_no_files(repository, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--initial-branch", "main")
    commit(other, {"counter.py": "x = 1\n"})
    (repository / "counter.py").symlink_to("/etc/passwd")
    git(repository, "submodule", "add", str(other), "rope")
    commit(repository, {})
    kinds = {change.path: change.mode for change in changes(repository, "main", {})}
    assert kinds == {".gitmodules": FILE, "counter.py": LINK, "rope": SUBMODULE}


def test_an_edit_that_is_not_committed_yet_counts(repository):
    (repository / "old.py").write_text("b = 2\n", encoding="utf-8")
    assert changes(repository, "main", {}) == [Changed("old.py", FILE)]


def test_on_the_base_itself_nothing_changed(repository):
    git(repository, "checkout", "main")
    assert changes(repository, "main", {}) == []


def test_the_top_is_found_from_a_folder_below(repository):
    (repository / "deep").mkdir()
    assert top_of(repository / "deep") == repository.resolve()


@pytest.mark.parametrize(
    "environment",
    [
        {"GITHUB_BASE_REF": "main"},
        {"CI_DEFAULT_BRANCH": "main"},
        {},
    ],
    ids=["GitHub", "GitLab", "neither"],
)
def test_the_base_is_found_by_what_the_server_says(repository, tmp_path, environment):
    commit(repository, {"counter.py": "x = 1\n"})
    git(repository, "checkout", "main")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--branch", "answer", str(repository), "clone")
    assert changes(clone, None, environment) == [Changed("counter.py", FILE)]


def test_gitlab_names_the_commit(repository):
    commit(repository, {"counter.py": "x = 1\n"})
    environment = {"CI_MERGE_REQUEST_DIFF_BASE_SHA": "answer~1"}
    assert changes(repository, None, environment) == [Changed("counter.py", FILE)]


def refusal(folder: Path, base: str | None = None, **environment: str) -> str:
    with pytest.raises(CannotCompare) as refused:
        changes(top_of(folder), base, environment)
    return str(refused.value)


def test_no_repository(tmp_path):
    assert refusal(tmp_path) == "this is no git repository\n  list the answers in solutions.toml"


def test_no_git_at_all(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refusal(tmp_path) == (
        "there is no git here\n  list the answers in solutions.toml, or install git"
    )


def test_no_commit_yet(tmp_path):
    git(tmp_path, "init", "--initial-branch", "main")
    assert refusal(tmp_path, "main") == "there is no commit yet\n  commit the answer first"


def test_no_main_branch(repository):
    git(repository, "branch", "--delete", "--force", "main")
    assert refusal(repository) == ("there is no main branch to compare with\n  name it with --base")


@pytest.mark.parametrize("base", ["origin/gone", "--output=/tmp/x", "main:old.py"])
def test_a_base_that_is_no_commit(repository, base):
    assert refusal(repository, base) == (
        f"there is no commit called {base!r} here\n  fetch it, or name another with --base"
    )


def test_a_branch_without_a_common_commit(repository):
    git(repository, "checkout", "--orphan", "alone")
    commit(repository, {"counter.py": "x = 1\n"})
    assert refusal(repository, "main") == (
        "the branch has no commit in common with main\n"
        "  name another with --base, or list the answers in solutions.toml"
    )


def test_a_shallow_clone(repository, tmp_path):
    commit(repository, {"counter.py": "x = 1\n"})
    git(repository, "checkout", "main")
    commit(repository, {"README.md": "more\n"})
    where = repository.as_uri()
    git(
        tmp_path,
        "clone",
        "--depth",
        "1",
        "--no-single-branch",
        "--branch",
        "answer",
        where,
        "clone",
    )
    assert refusal(tmp_path / "clone", "origin/main") == (
        "the clone is too shallow to see where the branch left origin/main\n"
        "  git fetch --unshallow (on GitHub fetch-depth: 0, on GitLab GIT_DEPTH: 0)"
    )
    git(tmp_path, "clone", "--depth", "1", "--branch", "answer", where, "single")
    assert refusal(tmp_path / "single", None, GITHUB_BASE_REF="main") == (
        "there is no commit called 'origin/main' here\n"
        "  git fetch --unshallow (on GitHub fetch-depth: 0, on GitLab GIT_DEPTH: 0)"
    )


def test_a_repository_cannot_make_git_run_something(repository, tmp_path):
    mark = tmp_path / "ran"
    script = repository / "run.sh"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n", encoding="utf-8")
    script.chmod(0o755)
    for setting in ("core.fsmonitor", "diff.external", "diff.x.textconv"):
        git(repository, "config", setting, str(script))
    commit(repository, {".gitattributes": "*.py diff=x\n", "counter.py": "x = 1\n"})
    mark.unlink(missing_ok=True)
    changes(repository, "main", {})
    assert not mark.exists()


def test_a_file_is_given_to_no_command_before_it_is_compared(repository, tmp_path):
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n", encoding="utf-8")
    script.chmod(0o755)
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "--initial-branch", "main")
    commit(inner, {"a": "1\n"})
    git(repository, "submodule", "add", str(inner), "inner")
    attributes = "*.py filter=x=y\ncounter.py filter=z\n"
    commit(repository, {".gitattributes": attributes, "counter.py": "x = 1\n"})
    for where, name in ((repository, "x=y"), (repository, "z"), (repository / "inner", "z")):
        for setting in ("clean", "smudge", "process"):
            git(where, "config", f"filter.{name}.{setting}", str(script))
        git(where, "config", f"filter.{name}.required", "true")
    (repository / ".git/modules/inner/info/attributes").write_text("* filter=z\n")
    for file in ("counter.py", "old.py", "inner/a"):  # as long as before, but for its time
        text = (repository / file).read_text(encoding="utf-8")
        (repository / file).write_text(text.replace("1", "2"), encoding="utf-8")
    assert [change.path for change in changes(repository, "main", {})] == [
        ".gitattributes",
        ".gitmodules",
        "counter.py",
        "inner",
        "old.py",
    ]
    assert not (tmp_path / "ran").exists()
