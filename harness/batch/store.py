"""Where a round's results lie: one document a submission, written whole, found again by content.

Files, not a database: each result is the same document `harness check --json` writes, opens
without us, and a rename is the one operation every file system does whole or not at all.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import msgspec

from harness.results import Result, WrongVersion, from_json, to_json
from harness.whole_files import remove_unfinished, write_whole

ROUND = "round.json"
LOCK = ".lock"
MAX_NAME_BYTES = 180


class Round(msgspec.Struct, frozen=True):
    """What is the same for everyone: the secret seed, drawn when the round starts."""

    seed: int
    budget: str
    backend: str
    device: str


class Stored(msgspec.Struct, frozen=True):
    """One result with what it was computed from."""

    key: str
    candidate: str
    origin: str
    result: Result


class BusyFolder(Exception):
    """Another run is writing to this folder."""


class OtherRound(Exception):
    """The folder holds a round of other settings."""


class NoPlace(Exception):
    """The folder cannot be written to."""


class Store:
    """A folder of results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = folder / "results"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep the folder for one run; raise `BusyFolder` when another has it."""
        with self._written():
            self.results.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(handle, self.folder)
            for folder in (self.folder, self.results):
                remove_unfinished(folder)
            yield
        finally:
            os.close(handle)

    def round(self, budget: str, backend: str, device: str, seed: int | None) -> Round:
        """The folder's round; a new one gets a secret seed unless one is given."""
        try:
            known = msgspec.json.decode((self.folder / ROUND).read_bytes(), type=Round)
        except FileNotFoundError:
            drawn = secrets.randbits(48) if seed is None else seed
            known = Round(drawn, budget, backend, device)
            with self._written():
                write_whole(self.folder / ROUND, msgspec.json.encode(known), lasting=True)
        except msgspec.DecodeError as error:
            raise OtherRound(f"{self.folder / ROUND} cannot be read: {error}") from None
        wanted = Round(known.seed if seed is None else seed, budget, backend, device)
        if wanted != known:
            raise OtherRound(f"{self.folder} holds a round with {_in_words(known)}")
        return known

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise NoPlace(f"{self.folder} cannot be written to: {error.strerror}") from None

    def path(self, candidate: str, slug: str) -> Path:
        """Where a result lies."""
        return self.results / f"{file_stem(candidate, slug)}.json"

    def has(self, candidate: str, slug: str, key: str) -> bool:
        """Whether the result for exactly these inputs is there."""
        stored = self._read(self.path(candidate, slug))
        return stored is not None and stored.key == key

    def put(self, stored: Stored) -> None:
        """Write a result whole."""
        raw = msgspec.json.encode(document_of(stored))
        path = self.path(stored.candidate, stored.result.problem.slug)
        write_whole(path, msgspec.json.format(raw, indent=2), lasting=True)

    def all(self) -> list[Stored]:
        """Every readable result, by candidate and problem."""
        return self.sorted_out()[0]

    def sorted_out(self) -> tuple[list[Stored], dict[str, str]]:
        """Every readable result, by candidate and problem; and the other files, each with why."""
        kept, left_out = [], {}
        for path in sorted(self.results.glob("*.json")):
            try:
                kept.append(stored_in(path.read_bytes()))
            except OSError as error:
                left_out[path.name] = f"cannot be read: {error.strerror}"
            except WrongVersion as error:
                left_out[path.name] = str(error)
        return sorted(kept, key=lambda s: (s.candidate, s.result.problem.slug)), left_out

    def _read(self, path: Path) -> Stored | None:
        """A stored result; None when it is missing, torn or of another version: done again."""
        try:
            return stored_in(path.read_bytes())
        except (OSError, WrongVersion):
            return None


def _lock(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BusyFolder(f"another run is writing to {folder}") from None


def file_stem(candidate: str, slug: str) -> str:
    """The name of a submission's files: readable, odd characters written out.

    No two are one to a file system that knows no capitals, and none starts as an unfinished one.
    """
    name = quote(candidate, safe=" ").replace("~", "%7E")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if len(name) > MAX_NAME_BYTES or candidate != candidate.casefold():
        digest = hashlib.sha256(candidate.encode()).hexdigest()[:16]
        name = f"{name[:MAX_NAME_BYTES]}~{digest}"
    return f"{name}__{quote(slug, safe='')}"


def document_of(stored: Stored) -> dict[str, object]:
    """A stored result as it is written; `stored_in` reads it."""
    document = msgspec.json.decode(to_json(stored.result))
    return {"key": stored.key, "candidate": stored.candidate,
            "origin": stored.origin, "result": document}  # fmt: skip


def stored_in(raw: bytes) -> Stored:
    """A stored result from a file's bytes; raise `WrongVersion` with what is wrong."""
    try:
        loose = msgspec.json.decode(raw)
        result = from_json(msgspec.json.encode(loose["result"]))
        return msgspec.convert(loose | {"result": result}, Stored)
    except (msgspec.ValidationError, KeyError, TypeError):
        raise WrongVersion("not a result of a round") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise WrongVersion(f"torn, or no result: {error}") from None


def _in_words(known: Round) -> str:
    return f"budget {known.budget}, backend {known.backend}, device {known.device}"
