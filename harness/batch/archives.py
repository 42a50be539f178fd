"""Reading a stranger's zip or tar: in memory, ordinary files only, under caps, nothing unpacked."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from harness.submissions import MAX_SOURCE_BYTES

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")
MAX_MEMBERS = 1000
MAX_ARCHIVE_BYTES = 64 * 1024 * 1024


class BadArchive(Exception):
    """The archive is refused whole; says why."""


def members(path: Path) -> Iterator[tuple[str, bytes]]:
    """The name and bytes of every ordinary file, in the archive's order."""
    if path.stat().st_size > MAX_ARCHIVE_BYTES:
        raise BadArchive(f"an archive of more than {MAX_ARCHIVE_BYTES:,} bytes")
    try:
        yield from _zip(path) if path.name.endswith(".zip") else _tar(path)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise BadArchive(f"a broken archive: {error}") from None
    except (NotImplementedError, RuntimeError) as error:
        raise BadArchive(f"an archive that cannot be read: {error}") from None


def _zip(path: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        listed = archive.infolist()
        _check_count(len(listed))
        for info in listed:
            is_link = (info.external_attr >> 16) & 0o170000 == 0o120000
            if info.is_dir() or is_link:
                continue
            _check_name(info.filename)
            with archive.open(info) as member:
                yield info.filename, _capped(member.read(MAX_SOURCE_BYTES + 1), info.filename)


def _tar(path: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path) as archive:
        for count, info in enumerate(archive, start=1):
            _check_count(count)
            if not info.isreg():
                continue
            _check_name(info.name)
            member = archive.extractfile(info)
            if member is not None:
                yield info.name, _capped(member.read(MAX_SOURCE_BYTES + 1), info.name)


def _check_count(count: int) -> None:
    if count > MAX_MEMBERS:
        raise BadArchive(f"more than {MAX_MEMBERS:,} files")


def _check_name(name: str) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise BadArchive(f"a file that would leave its folder: {name!r:.80}")


def _capped(source: bytes, name: str) -> bytes:
    if len(source) > MAX_SOURCE_BYTES:
        raise BadArchive(f"{name!r:.80} has more than {MAX_SOURCE_BYTES:,} bytes")
    return source
