"""Running git where nothing in the repository decides what else runs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

PLACES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR")  # of a hook around us
COMMAND = ("git", "-c", "core.fsmonitor=false")
COUNT = "GIT_CONFIG_COUNT"


def git(
    folder: Path,
    *arguments: str,
    given: bytes = b"",
    settings: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run git to its end and keep what it said; raise `FileNotFoundError` without git.

    `settings` go before those of the repository.
    """
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment() | _as_variables(settings or {}),
        input=given,
        capture_output=True,
        check=False,
    )


def started(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Git with open pipes, for answers that have no known size."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def environment() -> dict[str, str]:
    """No lock is taken, no object is fetched, nobody is asked for a password."""
    kept = {name: value for name, value in os.environ.items() if name not in PLACES}
    return kept | {
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",  # what an older git needs to hear instead
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }


def without_filters(folder: Path) -> dict[str, str]:
    """Settings with which no file is given to a command before it is compared."""
    done = git(folder, "config", "--null", "--name-only", "--get-regexp", r"^filter\.")
    names = [name for name in os.fsdecode(done.stdout).split("\0") if name]
    return {name: "false" if name.endswith(".required") else "" for name in names}


def _as_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings as git reads them from its environment, behind those that are there."""
    known = os.environ.get(COUNT, "")
    first = int(known) if known.isdecimal() else 0
    found = {COUNT: str(first + len(settings))} if settings else {}
    for number, (name, value) in enumerate(settings.items(), first):
        found |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return found


def words(complaint: bytes) -> str:
    """What git complained of, as one line."""
    return " ".join(complaint.decode("utf-8", "replace").split())[:300]
