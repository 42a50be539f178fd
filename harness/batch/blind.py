"""A round without names: each candidate has a number, and the key lies in a file of its own.

Numbers are drawn, not computed from the names or the seed: who knows the names and the seed, which
the pages show, could compute them too. The key keeps them the same from one report to the next.
"""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from unicodedata import normalize

import msgspec

from harness.batch.store import Stored
from harness.whole_files import write_whole

KEY = "blind-names.json"
WORD = re.compile(r"\w+")
NOT_TOLD = "at a time not told here"
SHORTEST_NAME = 3  # of a shorter one every other file would hold the letters


class BadKey(Exception):
    """The key cannot be used; says why and what to do."""


def labels(folder: Path, candidates: list[str]) -> dict[str, str]:
    """The label of every candidate, in the order of the labels; new ones are drawn and kept."""
    key = folder / KEY
    known = _read(key)
    new = [name for name in dict.fromkeys(candidates) if name not in known.values()]
    secrets.SystemRandom().shuffle(new)
    width = max(2, len(str(len(known) + len(new))))
    for name in new:
        known[f"Candidate {len(known) + 1:0{width}}"] = name
    if new:
        raw = msgspec.json.format(msgspec.json.encode(known), indent=1) + b"\n"
        write_whole(key, raw, private=True)
    return {name: label for label, name in known.items()}


def _read(key: Path) -> dict[str, str]:
    try:
        known = msgspec.json.decode(key.read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError) as error:
        raise BadKey(f"{key} cannot be read: {error}\n  remove it to draw new numbers") from None
    return known


def hidden(stored: Stored, label: str) -> Stored:
    """The result under a label. The time goes too: files are graded in the order of names."""
    result = stored.result
    path = f"{label}/{result.problem.slug}.py"
    result = msgspec.structs.replace(
        result,
        submission=msgspec.structs.replace(result.submission, path=path),
        run=msgspec.structs.replace(result.run, started=NOT_TOLD),
    )
    return Stored("", label, path, result)


def tells(stored: Stored) -> bool:
    """Whether the text of a file, which a report shows, holds its candidate's name."""
    name, source = (
        WORD.findall(normalize("NFKC", text).casefold().replace("_", " "))
        for text in (stored.candidate, stored.result.submission.source)
    )
    if len("".join(name)) < SHORTEST_NAME:
        return False
    return set(name) <= set(source) or "".join(name) in source
