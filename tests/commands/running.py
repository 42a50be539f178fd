"""Running the command as a user does, in a folder and an environment of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from harness.worker.processes import give_up_privileges

PACK = Path(__file__).parents[1] / "hostile" / "pack"
RIGHT = (PACK / "solutions" / "tally" / "reference.py").read_text()
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def harness(
    *arguments: str,
    folder: Path,
    pack: Path | None = PACK,
    environment: dict[str, str] | None = None,
    unprivileged: bool = False,
    **more: Any,
) -> tuple[int, str, str]:
    """The exit code, what was printed and what was said of errors: never a traceback of ours."""
    named = ["--pack", str(pack)] if pack else []
    done = subprocess.run(
        [sys.executable, "-m", "harness", *named, *arguments],
        cwd=folder,
        env=os.environ | (environment or {}),
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
        timeout=120,
        preexec_fn=give_up_privileges if unprivileged else None,
        **more,
    )
    assert "Traceback" not in done.stdout + done.stderr
    assert not CONTROL.search(done.stdout + done.stderr)
    return done.returncode, done.stdout, done.stderr


def said(errors: str) -> str:
    """The error itself, without the usage lines before it."""
    return errors.partition("Error: ")[2].rstrip("\n")


def without_times(text: str) -> str:
    """The text with every duration left out."""
    return re.sub(r"\d+\.\d s", "N s", text)
