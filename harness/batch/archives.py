"""Reading a stranger's zip or tar: in memory, ordinary files only, under caps, nothing unpacked."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Self

from harness.submissions import MAX_SOURCE_BYTES

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")
MAX_MEMBERS = 1000
MAX_ARCHIVE_BYTES = 64 * 1024 * 1024
MAX_UNPACKED_BYTES = 64 * 1024 * 1024  # of a whole tar, headers and passed-over files included
MAX_DIRECTORY_BYTES = 1024 * 1024  # of a zip's list of files
END_OF_ZIP = struct.Struct("<4s4H2LH")
MAX_COMMENT_BYTES = 65535
LARGE_ZIP = struct.Struct(
    "<4sLQL"
)  # stands before the end where the end's own figures do not count
LONG_HEADERS = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE,
                tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)  # fmt: skip
SPARSE = "a file with holes, which no answer has"
MAX_HEADER_BYTES = 8 * 1024  # of one; `tarfile` may take the square of it in time
MAX_HEADERS_BYTES = 1024 * 1024  # of all of them


class BadArchive(Exception):
    """The archive is refused whole; says why."""


def members(path: Path) -> Iterator[tuple[str, bytes]]:
    """The name and bytes of every ordinary file, in the archive's order."""
    if path.stat().st_size > MAX_ARCHIVE_BYTES:
        raise BadArchive(f"an archive of more than {MAX_ARCHIVE_BYTES:,} bytes")
    try:
        yield from _zip(path) if path.name.endswith(".zip") else _tar(path)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError) as error:
        raise BadArchive(f"a broken archive: {error}") from None
    except (EOFError, OSError, ValueError, struct.error) as error:
        raise BadArchive(f"a broken archive: {error}") from None
    except (NotImplementedError, RuntimeError) as error:
        raise BadArchive(f"an archive that cannot be read: {error}") from None


def _zip(path: Path) -> Iterator[tuple[str, bytes]]:
    _check_directory(path)
    with zipfile.ZipFile(path) as archive:
        listed = archive.infolist()
        _check_count(len(listed))
        for info in listed:
            is_link = (info.external_attr >> 16) & 0o170000 == 0o120000
            if info.is_dir() or is_link:
                continue
            _check_name(info.filename)
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise BadArchive("an archive that cannot be read: another packing than deflate")
            with archive.open(info) as member:
                yield info.filename, _capped(member.read(MAX_SOURCE_BYTES + 1), info.filename)


def _check_directory(path: Path) -> None:
    """Refuse a list of files that is too long to be read: `zipfile` reads it whole, unasked."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - END_OF_ZIP.size - MAX_COMMENT_BYTES))
        tail = file.read()
    start = tail.rfind(b"PK\5\6")
    if start < 0 or len(tail) < start + END_OF_ZIP.size:
        raise BadArchive("a broken archive: File is not a zip file")
    size = END_OF_ZIP.unpack_from(tail, start)[5]
    if size > MAX_DIRECTORY_BYTES:
        raise BadArchive(f"more than {MAX_MEMBERS:,} files")
    if tail[:start][-LARGE_ZIP.size :].startswith(b"PK\6\7"):
        raise BadArchive("an archive that cannot be read: a zip of the kind for large files")


def _tar(path: Path) -> Iterator[tuple[str, bytes]]:
    """Read as a stream, so that nothing is read twice and every unpacked byte is counted."""
    with _unpacked(path) as unpacked:
        counted: Any = _Counted(unpacked)
        archive = tarfile.open(  # noqa: SIM115 - it holds no file
            fileobj=counted, mode="r|", tarinfo=_checked_headers()
        )
        for count, info in enumerate(archive, start=1):
            _check_count(count)
            if not info.isreg():
                continue
            _check_name(info.name)
            member = archive.extractfile(info)
            if member is not None:
                yield info.name, _capped(member.read(MAX_SOURCE_BYTES + 1), info.name)


def _checked_headers() -> type[tarfile.TarInfo]:
    """Headers of one archive, refused before `tarfile` reads what belongs to them."""
    left = MAX_HEADERS_BYTES

    class Header(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
            nonlocal left
            header = super().frombuf(buf, encoding, errors)
            if header.type in LONG_HEADERS:
                left -= header.size
                if left < 0 or not 0 <= header.size <= MAX_HEADER_BYTES:
                    raise BadArchive(f"headers of more than {MAX_HEADER_BYTES:,} bytes")
            if header.type == tarfile.GNUTYPE_SPARSE:
                raise BadArchive(SPARSE)
            return header

        def _proc_gnusparse_10(self, *_: object) -> None:  # reads a list of any length
            raise BadArchive(SPARSE)

    return Header


def _unpacked(path: Path) -> Any:
    if path.suffix in (".gz", ".tgz"):
        return gzip.open(path)
    if path.suffix == ".xz":
        return lzma.open(path)
    return bz2.open(path) if path.suffix == ".bz2" else path.open("rb")


class _Counted:
    """A stream that ends in `BadArchive` when more comes out of it than may."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._left = MAX_UNPACKED_BYTES

    def read(self, size: int) -> bytes:
        chunk: bytes = self._stream.read(min(size, self._left + 1))
        self._left -= len(chunk)
        if self._left < 0:
            raise BadArchive(f"more than {MAX_UNPACKED_BYTES:,} bytes when unpacked")
        return chunk


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
