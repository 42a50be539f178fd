"""`harness ci` as a runner would do it: in a checkout of a branch, with the pack elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from junitparser import JUnitXml
from markdown_it import MarkdownIt

from harness.documents import json_schema
from harness.results import Result, from_json
from tests.packs import REFERENCE, make_pack
from tests.test_changes import commit, git

ROOT = Path(__file__).parent.parent
WRONG = REFERENCE.replace("self.count += by", "self.count += by + 1")
UNKIND = REFERENCE.replace('raise ValueError("down")', "return self.count")


@pytest.fixture
def branch(tmp_path):
    """A checkout of a branch of somebody's own repository."""
    folder = tmp_path / "branch"
    folder.mkdir()
    make_pack(tmp_path / "pack")
    git(folder, "init", "--initial-branch", "main")
    commit(folder, {"README.md": "hello\n"})
    git(folder, "checkout", "-b", "ada")
    return folder


def ci(branch: Path, *arguments: str, pack: Path | None = None, **environment: str):
    """Run the command in the checkout; GitHub's and GitLab's variables only where given."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "CI"))}
    kept |= {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"} | environment
    pack = pack or branch.parent / "pack"
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "harness",
            "--pack",
            str(pack),
            "ci",
            "--backend",
            "local",
            *arguments,
        ],
        cwd=branch,
        env=kept,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_right_answer(branch):
    commit(branch, {"counter.py": REFERENCE})
    done = ci(branch, "--base", "main")
    assert (done.returncode, done.stderr) == (0, "grading counter.py\n")
    assert done.stdout == (
        "counter.py (counter): 3 held.  Strong hire.\nNext: harness-results/summary.md\n"
    )
    files = branch / "harness-results"
    assert sorted(path.name for path in files.iterdir()) == [
        ".gitignore",
        "counter.json",
        "junit.xml",
        "summary.md",
    ]
    result = from_json((files / "counter.json").read_bytes())
    jsonschema.validate(json.loads((files / "counter.json").read_bytes()), json_schema(Result))
    assert (result.level, result.submission.path) == ("Strong hire", "counter.py")
    (suite,) = JUnitXml.fromfile(str(files / "junit.xml"))
    assert (suite.tests, suite.failures) == (3, 0)


def test_a_wrong_answer_on_github(branch, tmp_path):
    commit(branch, {"ada/counter.py": WRONG})
    page = tmp_path / "summary"
    page.write_text("before\n", encoding="utf-8")
    done = ci(branch, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(page), GITHUB_BASE_REF="")
    assert done.returncode == 1
    first, *_, token, error_one, error_two, _ = done.stdout.splitlines()
    assert first.startswith("::stop-commands::")
    assert token == f"::{first.removeprefix('::stop-commands::')}::"
    assert error_one == (
        "::error file=ada/counter.py,line=5,title=broke[nothing-added-changes-nothing]::"
        "nothing added changes nothing (R1)%0Awanted 3%0Agot 4"
    )
    assert error_two.startswith("::error file=ada/counter.py,line=5,title=broke[it-adds]::")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n# Coding round\n")
    assert text.removeprefix("before\n") == (branch / "harness-results/summary.md").read_text(
        encoding="utf-8"
    )
    kinds = [token.type for token in MarkdownIt("gfm-like", {"linkify": False}).parse(text)]
    assert kinds.count("table_open") == 2
    assert kinds.count("fence") == 4


@pytest.mark.parametrize(
    ("level", "code"), [("strong-hire", 1), ("hire", 1), ("no-hire", 0), ("strong-no-hire", 0)]
)
def test_the_exit_follows_the_level_asked_for(branch, level, code):
    commit(branch, {"counter.py": UNKIND})  # the only edge broke: No hire
    assert ci(branch, "--base", "main", "--fail-below", level).returncode == code


def test_findings_elsewhere_are_lines_as_compilers_write_them(branch):
    commit(branch, {"counter.py": WRONG})
    done = ci(branch)
    assert done.stdout.splitlines()[1] == (
        "counter.py:5: error: broke[nothing-added-changes-nothing]: "
        "nothing added changes nothing (R1); wanted 3; got 4"
    )


def test_a_branch_that_answers_nothing_passes_and_says_so(branch):
    commit(branch, {"notes.md": "later\n"})
    done = ci(branch)
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        0,
        "This branch answers no problem. An answer is a file called SLUG.py or SLUG/solution.py, "
        "or one that solutions.toml lists.",
    )


def test_suites_on_the_branch_are_passed_over(branch):
    grader = "def test_it_adds(candidate):\n    pass\n"
    commit(branch, {"graders/counter.py": grader, "counter.py": WRONG})
    done = ci(branch)
    assert done.returncode == 1
    assert done.stdout.startswith("passed over: graders/counter.py: graders/ holds no answers\n")


def test_a_pack_on_the_branch_is_refused(branch):
    make_pack(branch / "mine")
    done = ci(branch, pack=branch / "mine")
    assert done.returncode == 2
    assert done.stderr.endswith(
        f"Error: the pack is a part of this branch: {branch / 'mine'}\n"
        "  install the harness from elsewhere, so that the branch cannot change its suites\n"
    )


def test_a_harness_on_the_branch_is_not_the_one_that_runs(branch):
    bad = "raise SystemExit('the branch ran')\n"
    commit(branch, {"harness/__init__.py": bad, "conftest.py": bad, "counter.py": REFERENCE})
    assert ci(branch).returncode == 0


def test_a_list_of_solutions_works_without_git(tmp_path):
    make_pack(tmp_path / "pack")
    folder = tmp_path / "plain"
    (folder / "src").mkdir(parents=True)
    (folder / "src/mine.py").write_text(REFERENCE, encoding="utf-8")
    (folder / "solutions.toml").write_text(
        '[solutions]\ncounter = "src/mine.py"\n', encoding="utf-8"
    )
    done = ci(folder, PATH=str(tmp_path))
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        0,
        "src/mine.py (counter): 3 held.  Strong hire.",
    )


def test_two_answers_are_both_graded_and_kept(branch):
    commit(branch, {"ada/counter.py": REFERENCE, "bob/counter.py": WRONG})
    done = ci(branch, "--out", "kept")
    assert done.returncode == 1
    names = sorted(path.name for path in (branch / "kept").iterdir())
    assert names == [".gitignore", "counter-2.json", "counter.json", "junit.xml", "summary.md"]


def test_a_folder_for_results_that_leads_elsewhere_is_refused(branch, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (branch / "harness-results").symlink_to(tmp_path / "elsewhere")
    commit(branch, {"counter.py": REFERENCE})
    done = ci(branch)
    assert done.returncode == 2
    assert done.stderr.endswith("harness-results is a link\n  name a folder with --out\n")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_that_cannot_be_an_answer_is_refused_before_anything_runs(branch):
    commit(branch, {"counter.py": "x = 1\0"})
    done = ci(branch)
    assert done.returncode == 2
    assert done.stderr.endswith("counter.py is a binary file\n  name the candidate's Python file\n")


def test_a_secret_seed_stays_out_of_what_the_branch_sees(branch):
    commit(branch, {"counter.py": WRONG})
    done = ci(branch, HARNESS_SEED="424242424242")
    shown = done.stdout + done.stderr
    for name in ("summary.md", "junit.xml"):
        shown += (branch / "harness-results" / name).read_text(encoding="utf-8")
    assert "424242424242" not in shown
    assert (
        from_json((branch / "harness-results/counter.json").read_bytes()).run.seed == 424242424242
    )


def test_an_engine_that_is_missing_is_no_mark(branch):
    commit(branch, {"counter.py": WRONG})
    done = ci(branch, "--backend", "docker", DOCKER_HOST="unix:///nowhere/docker.sock")
    assert done.returncode == 3
    assert "No signal" in done.stdout.splitlines()[0]


def test_results_that_the_branch_brings_are_not_left_beside_ours(branch):
    forged = {"harness-results/rope.json": "{}", "counter.py": REFERENCE}
    commit(branch, forged)
    done = ci(branch)
    assert done.returncode == 2
    assert done.stderr.endswith(
        "harness-results is a part of this branch, which could bring results of its own\n"
        "  name another folder with --out\n"
    )
    assert [path.name for path in (branch / "harness-results").iterdir()] == ["rope.json"]
    assert ci(branch, "--out", "../results").returncode == 0


@pytest.mark.parametrize("source", [REFERENCE, "x = 1\0"])
def test_a_folder_of_the_branch_commands_nothing(branch, source):
    commit(branch, {"##[add-mask]hire/##vso[task.complete]/counter.py": source})
    done = ci(branch, "--base", "main")
    assert "/counter.py" in done.stdout + done.stderr
    assert "##" not in done.stdout + done.stderr
