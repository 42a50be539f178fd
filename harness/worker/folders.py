"""Emptying and removing a folder, whatever a candidate's process made of it."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def remove(folder: Path) -> None:
    """Remove a folder and what is in it; what cannot be removed stays."""
    empty(folder)
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def empty(folder: Path, keep: tuple[str, ...] = ()) -> None:
    """Remove what is in a folder, but for the names to keep; what cannot be removed stays.

    A folder's own folders are moved to the top before it is removed: a nest of ten thousand has no
    path that can be named and no recursion that ends well. Links are removed, never followed.
    """
    try:
        top = os.open(folder, FOLDER)
    except OSError:
        return
    try:
        left: list[str] = []
        while (names := [n for n in os.listdir(top) if n not in keep]) and names != left:
            left = names
            for name in names:
                with contextlib.suppress(OSError):
                    _remove_entry(top, name)
    finally:
        os.close(top)


def _remove_entry(top: int, name: str) -> None:
    if _unlinked(top, name):
        return
    os.chmod(name, 0o700, dir_fd=top)
    inner = os.open(name, FOLDER, dir_fd=top)
    try:
        for entry in os.listdir(inner):
            if not _unlinked(inner, entry):
                os.chmod(entry, 0o700, dir_fd=inner)
                aside = f"removed-{secrets.token_hex(8)}"
                os.rename(entry, aside, src_dir_fd=inner, dst_dir_fd=top)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)


def _unlinked(folder: int, name: str) -> bool:
    """Whether an entry was no folder, and is gone."""
    try:
        os.unlink(name, dir_fd=folder)
    except (IsADirectoryError, PermissionError):
        return False
    return True
