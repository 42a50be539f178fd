"""Reading a candidate's file, and refusing what cannot be one before anything runs."""

from __future__ import annotations

from pathlib import Path

from harness.suite.printable import printable

MAX_SOURCE_BYTES = 1024 * 1024


class BadSubmission(Exception):
    """The file named cannot be a submission; the message says why and what to do."""


def read_submission(path: Path) -> bytes:
    """A candidate's file; raise `BadSubmission` for what cannot be one."""
    shown = printable(str(path))  # a name is a stranger's text too
    try:
        if path.is_dir():
            raise BadSubmission(f"{shown} is a folder\n  name the candidate's file in it")
        if not path.is_file():
            known = "is not an ordinary file" if path.exists() else "does not exist"
            raise BadSubmission(f"{shown} {known}\n  name the candidate's Python file")
        size = path.stat().st_size
        if size > MAX_SOURCE_BYTES:
            raise BadSubmission(
                f"{shown} has {size:,} bytes\n  a submission has at most {MAX_SOURCE_BYTES:,}"
            )
        source = path.read_bytes()
    except OSError as error:
        raise BadSubmission(f"{shown} cannot be read: {error.strerror}") from None
    check_text(source, shown)
    return source


def check_text(source: bytes, shown: str) -> None:
    """Raise `BadSubmission` for bytes that are no Python text; `shown` says whose they are."""
    try:
        source.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"byte {error.start} is 0x{source[error.start]:02x}"
        raise BadSubmission(f"{shown} is not UTF-8 text: {byte}\n  save it as UTF-8") from None
    if b"\0" in source:
        raise BadSubmission(f"{shown} is a binary file\n  name the candidate's Python file")
