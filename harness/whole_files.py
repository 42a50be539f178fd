"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

UNFINISHED = ".new-"  # how the name of a file starts until it is whole


def write_whole(
    target: Path, document: bytes, *, lasting: bool = False, private: bool = False
) -> None:
    """Replace a file at once; whoever reads it sees the old one or the new one.

    A link of this name is replaced, not followed; a device or pipe is written to as it is.
    `lasting` waits until it is on the disk: a power cut leaves the old one or the new one too.
    `private` keeps it from everybody but its owner.
    """
    temporary = None
    if target.exists() and not target.is_file() and not target.is_dir():
        target.write_bytes(document)
        return
    try:
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=UNFINISHED, delete=False
        ) as handle:
            temporary = Path(handle.name)
            handle.write(document)
            if lasting:
                handle.flush()
                os.fsync(handle.fileno())
        temporary.chmod(0o600 if private else 0o644)
        os.replace(temporary, target)
    except BaseException:  # also when somebody stops it
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise


def remove_unfinished(folder: Path) -> None:
    """Remove what a writer that was killed left; nobody else may be writing here."""
    for path in folder.glob(f"{UNFINISHED}*"):
        with contextlib.suppress(OSError):
            path.unlink()
