"""What killed judges left of their local workers: folders, and processes that use them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import tempfile
from pathlib import Path

from harness.sandbox import judges
from harness.worker import folders

NAME = re.compile(r"harness-(\d+)-(\w+)-(\w+)-")


def new_folder() -> Path:
    """A folder for one worker, marked as this judge's; raises `OSError` where none can be made."""
    space, pid, started = judges.mark()
    return Path(tempfile.mkdtemp(prefix=f"harness-{pid}-{space}-{started}-"))


def sweep() -> int:
    """Remove what judges that no longer live left here; how many folders there were."""
    left = [folder for folder in _folders() if _is_left(folder.name)]
    if left:
        _kill_users({str(folder) for folder in left})
    for folder in left:
        folders.remove(folder)
    return len(left)


def _folders() -> list[Path]:
    """The folders in the temporary folder that belong to this user."""
    found = []
    for folder in Path(tempfile.gettempdir()).glob("harness-*"):
        with contextlib.suppress(OSError):
            mine = folder.lstat().st_uid == os.getuid()
            if mine and folder.is_dir() and not folder.is_symlink():
                found.append(folder)
    return found


def _is_left(name: str) -> bool:
    match = NAME.match(name)
    return match is not None and judges.is_gone(match[2], match[1], match[3])


def _kill_users(left: set[str]) -> None:
    """Kill the processes that were started with one of these as their temporary folder."""
    if sys.platform != "linux":
        return
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if not left.isdisjoint(_temporary_folders(entry)):
                    os.kill(int(entry.name), signal.SIGKILL)


def _temporary_folders(process: Path) -> list[str]:
    environment = (process / "environ").read_bytes().decode("utf-8", "replace").split("\0")
    return [line.removeprefix("TMPDIR=") for line in environment if line.startswith("TMPDIR=")]
