"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(target: Path, document: bytes) -> None:
    """Replace a file at once; whoever reads it sees the old one or the new one.

    A link of this name is replaced, not followed; a device or pipe is written to as it is.
    """
    temporary = None
    if target.exists() and not target.is_file() and not target.is_dir():
        target.write_bytes(document)
        return
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as handle:
            temporary = Path(handle.name)
            handle.write(document)
        temporary.chmod(0o644)
        os.replace(temporary, target)
    except BaseException:  # also when somebody stops it
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise
