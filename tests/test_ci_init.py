"""`harness ci init`: what it writes is read by the formats' own schemas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from harness.cli import harness
from harness.commands.ci_init import origin

ORIGIN = "harness[all] @ git+https://example.org/harness@" + "c0ffee" * 6
GITHUB, GITLAB = ".github/workflows/coding-round.yml", ".gitlab-ci.yml"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(*arguments: str):
    return CliRunner().invoke(harness, ["ci", "init", *arguments])


def read(name: str):
    return YAML(typ="safe").load(Path(name))


@pytest.mark.parametrize(
    ("name", "schema"), [(GITHUB, "vendor.github-workflows"), (GITLAB, "vendor.gitlab-ci")]
)
def test_a_file_fits_the_schema_of_its_server(name, schema):
    assert init("--install", ORIGIN).exit_code == 0
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, name],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "ok -- validation done\n")


def test_what_is_said():
    done = init("--install", ORIGIN)
    assert done.output == (
        f"{GITHUB} is ready.\n{GITLAB} is ready.\n"
        "Next: commit, and let nobody but owners change these files\n"
    )


def test_the_workflow_gives_a_branch_no_rights_and_all_of_its_history():
    init("--install", ORIGIN, "--fail-below", "strong-hire")
    workflow = read(GITHUB)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["on"] == {"pull_request": None}
    steps = workflow["jobs"]["grade"]["steps"]
    assert steps[0]["with"] == {"fetch-depth": 0, "persist-credentials": False, "path": "branch"}
    assert [step["run"] for step in steps if "run" in step] == [
        'python -m pip install "$HARNESS"',
        "harness image build",
        "harness ci --fail-below strong-hire --out ../harness-results",
    ]
    assert steps[2]["env"] == {"HARNESS": ORIGIN}


def test_the_job_keeps_junit_for_the_merge_request():
    init("--install", ORIGIN)
    job = read(GITLAB)["coding-round"]
    assert job["variables"] == {"GIT_DEPTH": "0", "HARNESS": ORIGIN}
    assert job["artifacts"]["reports"] == {"junit": "harness-results/junit.xml"}


def test_a_requirement_with_odd_characters_stays_one_value():
    odd = "harness @ file:///x'y\"z: #${{ secrets }}\n- run: evil"
    init("--install", odd)
    assert read(GITHUB)["jobs"]["grade"]["steps"][2]["env"] == {"HARNESS": odd}
    assert read(GITLAB)["coding-round"]["variables"]["HARNESS"] == odd


def test_an_existing_file_is_left_as_it_is():
    Path(GITHUB).parent.mkdir(parents=True)
    Path(GITHUB).write_text("mine\n", encoding="utf-8")
    done = init("--for", "github", "--install", ORIGIN)
    assert done.exit_code == 2
    assert done.output.endswith(
        f"Error: {GITHUB} is here already; it was left as it is\n  move it away first\n"
    )
    assert Path(GITHUB).read_text(encoding="utf-8") == "mine\n"


def test_beside_a_pipeline_of_ones_own_there_is_a_file_to_include():
    Path(GITLAB).write_text("stages: [test]\n", encoding="utf-8")
    done = init("--for", "gitlab", "--install", ORIGIN)
    assert done.output.startswith(
        ".gitlab/coding-round.yml is ready.\n"
        "  .gitlab-ci.yml was here already; add to it: include: .gitlab/coding-round.yml\n"
    )
    assert read(GITLAB) == {"stages": ["test"]}
    assert "coding-round" in read(".gitlab/coding-round.yml")


@pytest.mark.parametrize(
    ("note", "requirement"),
    [
        (
            '{"url": "https://example.org/h", "vcs_info": {"vcs": "git", "commit_id": "C0"}}',
            "harness[all] @ git+https://example.org/h@C0",
        ),
        (
            '{"url": "https://example.org/h.whl", "archive_info": {}}',
            "harness[all] @ https://example.org/h.whl",
        ),
    ],
)
def test_the_harness_that_runs_is_the_one_that_the_runner_gets(note, requirement):
    assert origin(note) == requirement


@pytest.mark.parametrize(
    "note",
    ["{}", '{"url": "file:///h", "dir_info": {}}', '{"url": "file:///h", "archive_info": {}}'],
)
def test_a_place_that_a_runner_cannot_reach_has_to_be_named(note):
    with pytest.raises(click.UsageError) as refused:
        origin(note)
    assert refused.value.message == (
        "where a runner gets this harness from is not known\n"
        "  name it: --install 'harness[all] @ git+https://...@COMMIT', or the address of a wheel"
    )
