"""A walk through all three roles as a new user does it: the real commands, in empty folders."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from junitparser import JUnitXml

from harness.results import from_json
from tests.commands.running import harness as run
from tests.test_changes import commit, git

ROOT = Path(__file__).parents[1]
SLUG = "paged_allocator"
WRONG = (ROOT / "examples" / f"{SLUG}.py").read_text(encoding="utf-8")  # with one realistic bug
RIGHT = (ROOT / "solutions" / SLUG / "reference.py").read_text(encoding="utf-8")
WORST = "every-sequence-reads-back-its-own-tokens"
WATCH_S = 240.0
OWN_TESTS = """\
from paged_allocator import PagedAllocator


def test_a_fork_keeps_what_its_parent_frees():
    a = PagedAllocator(4, 4)
    a.allocate("a", 5)
    a.fork("a", "b")
    a.free("a")
    assert a.num_free_blocks == 2
"""


def words(text: str) -> str:
    """The text without its line ends: what is wrapped somewhere is still said."""
    return " ".join(text.split())


@pytest.fixture
def folder(tmp_path):
    """An empty folder, and how a user types a command in it."""

    def harness(*typed: str, exits: int = 0) -> str:
        code, out, errors = run(*typed, folder=tmp_path, pack=None)
        assert code == exits, out + errors
        wide = [line for line in out.splitlines() if len(line) > 80 and line[:5] != "Next:"]
        assert not wide or typed[0] in ("ci", "show")  # a CI's log; code in a statement
        return out

    harness.path = tmp_path  # type: ignore[attr-defined]
    return harness


def test_a_candidate_from_the_list_to_an_answer_that_holds(folder):
    answer = folder.path / f"{SLUG}.py"
    assert f"  {SLUG} " in folder("list")
    assert "\n- **R1** " in folder("show", SLUG)
    assert folder("start", SLUG).startswith(f"{SLUG}.py is ready. 45 minutes.\n")
    stub = folder("check", exits=1)
    assert "Strong no hire" in stub and "  held " not in stub

    answer.write_text(WRONG, encoding="utf-8")
    wrong = folder("check", exits=1)  # without a name: the last problem of this folder
    assert f"broke[{WORST}]" in wrong
    assert "29 held, 3 broke. No hire" in words(wrong)
    assert wrong.splitlines()[-1] == f"Next: harness explain {SLUG} {WORST}"
    assert "a write" in folder("explain", SLUG, WORST).lower()
    assert folder("hint").startswith("Hint 1 of ")
    assert folder("hint").startswith("Hint 2 of ")

    assert folder("replay", WORST).endswith(f"Next: python replay_{SLUG}.py\n")
    again = replayed(folder.path)
    assert (again.returncode, again.stderr) == (1, "as it was when the check broke\n")
    assert "harness" not in (folder.path / f"replay_{SLUG}.py").read_text(encoding="utf-8")

    seen = watched(folder.path, lambda: answer.write_text(RIGHT, encoding="utf-8"))
    assert f"holds now: {WORST}" in seen
    assert "no longer watching; harness status shows how it stands" in seen
    assert replayed(folder.path).returncode == 0

    (folder.path / "test_mine.py").write_text(OWN_TESTS, encoding="utf-8")
    held = folder("check", "--tests", "test_mine.py")
    assert re.search(r"own tests: 1 test; they catch [1-9]\d* of 20 wrong answers", words(held))
    assert "they reject no right one" in words(held)
    assert "32 held. Strong hire." in words(held)
    assert held.splitlines()[-1] == f"Next: harness check {SLUG} --budget full"
    status = folder("status")
    assert "  hints   2 taken" in status and "  last    32 held, 0 broke" in status
    assert re.search(rf"  held since \d\d:\d\d  {WORST}\n", status)


def replayed(folder: Path) -> subprocess.CompletedProcess[str]:
    """The replay file run alone, by a Python that knows nothing of the harness."""
    return subprocess.run(
        [sys.executable, "-I", f"replay_{SLUG}.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )


def watched(folder: Path, save) -> str:
    """What `harness watch` prints when the file is saved once, and it is stopped with Ctrl-C."""
    watching = subprocess.Popen(
        [sys.executable, "-m", "harness", "watch"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert watching.stdout is not None
    lines: list[str] = []
    saved = 0
    ender = threading.Timer(WATCH_S, watching.kill)  # a save that is missed ends the test
    ender.start()
    for line in watching.stdout:
        lines.append(line)
        if line == "Next: save the file again; Ctrl-C ends\n":
            saved += 1
            if saved == 1:
                save()
            else:
                watching.send_signal(signal.SIGINT)
    ender.cancel()
    assert watching.wait(60) == 0
    return "".join(lines)


def test_an_interviewer_from_a_file_to_a_debrief(folder):
    (folder.path / "ada.py").write_text(WRONG, encoding="utf-8")
    asked = ("check", SLUG, "ada.py", "--backend", "docker", "--json", "ada.json")
    assert folder(*asked, exits=1).splitlines()[-1] == "Next: harness report ada.json"
    result = from_json((folder.path / "ada.json").read_bytes())
    assert (result.run.backend, result.level) == ("docker", "No hire")
    assert folder("report", "ada.json") == "ada.html is ready.\n"
    panel = (folder.path / "ada.html").read_text(encoding="utf-8")
    assert "No hire" in panel and str(result.run.seed) in panel
    assert folder("report", "ada.json", "--for", "candidate", "--format", "markdown") == (
        "ada.md is ready.\n"
    )
    told = (folder.path / "ada.md").read_text(encoding="utf-8")
    assert WORST in told and f"seed {result.run.seed}" not in told

    for name, text in (("ada", WRONG), ("bob", RIGHT)):
        (folder.path / "take-homes" / name).mkdir(parents=True)
        (folder.path / "take-homes" / name / f"{SLUG}.py").write_text(text, encoding="utf-8")
    found = "2 submissions of 2 candidates\n"
    assert folder("grade", "take-homes", "--out", "round", "--dry-run").startswith(found)
    assert not (folder.path / "round").exists()
    graded = folder("grade", "take-homes", "--out", "round")
    assert re.search(r"^  No hire +1 +2 .* ada$", graded, re.MULTILINE)
    assert re.search(r"^  Strong hire .* bob$", graded, re.MULTILINE)
    assert graded.splitlines()[-1] == "Next: round/index.html"
    shutil.rmtree(folder.path / "round" / "scorecards")
    assert folder("report", "round") == "round/index.html is ready.\n"
    assert "bob" in (folder.path / "round" / "index.html").read_text(encoding="utf-8")
    assert len(JUnitXml.fromfile(str(folder.path / "round" / "results.junit.xml"))) == 2


def test_ci_from_a_workflow_to_a_verdict_on_a_branch(folder, monkeypatch):
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITLAB_CI"):
        monkeypatch.delenv(name, raising=False)
    git(folder.path, "init", "--initial-branch", "main")
    said = folder("ci", "init", "--install", "harness[all] @ git+https://example.org/harness@abc")
    assert said.splitlines()[0] == ".github/workflows/coding-round.yml is ready."
    commit(folder.path, {"README.md": "answers\n"})
    git(folder.path, "checkout", "-b", "ada")
    ci = ("ci", "--base", "main", "--backend", "local", "--fail-below", "hire")

    commit(folder.path, {f"{SLUG}.py": WRONG})
    verdict = folder(*ci, exits=1)
    assert f"{SLUG}.py ({SLUG}): 29 held, 3 broke.  No hire: " in verdict
    assert f"{SLUG}.py:66: error: broke[{WORST}]: " in verdict
    results = folder.path / "harness-results"
    broken = ElementTree.parse(results / "junit.xml").findall(".//failure")
    assert len(broken) == 3
    assert "No hire" in (results / "summary.md").read_text(encoding="utf-8")
    assert json.loads((results / f"{SLUG}.json").read_bytes())["level"] == "No hire"

    commit(folder.path, {f"{SLUG}.py": RIGHT})
    assert "32 held.  Strong hire." in folder(*ci)
    assert ElementTree.parse(results / "junit.xml").findall(".//failure") == []
