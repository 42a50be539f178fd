"""What of a round has no result: what waits and what could not be graded, each with why.

One file beside the results, so that a report made later leaves nobody out. An entry counts while
there is no result of its key: nobody has to take it out when there is one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from harness.batch.run import Job, given_up
from harness.batch.store import Stored, document_of, stored_in
from harness.results import WrongVersion
from harness.whole_files import write_whole

NOT_GRADED = "not-graded.json"
NO_RESULT = "it has no result yet"
AGAIN = "run the same command again: what is graded is kept"

Place = tuple[str, str]  # a candidate and a problem


def place_of(stored: Stored) -> Place:
    """Whose submission to which problem."""
    return stored.candidate, stored.result.problem.slug


class Outstanding:
    """What a run has no result of yet. `handed_in` is all that it was given, `todo` what it is to
    grade, with keys; what other runs into the folder left is kept.
    """

    def __init__(self, folder: Path, handed_in: Collection[Place],
                 todo: Iterable[tuple[str, Job]]) -> None:  # fmt: skip
        self._target = folder / NOT_GRADED
        given = set(handed_in)
        left = [one for one in _read(self._target)[0] if place_of(one) not in given]
        waiting = [_waits(key, job) for key, job in todo]
        self._without = {place_of(one): one for one in [*left, *waiting]}

    def hear(self, stored: Stored) -> None:
        """Take a result, or the reason why there is none."""
        waited = self._without.pop(place_of(stored))
        if stored.result.could_not_grade:
            self._without[place_of(stored)] = _noted(stored, waited.key)

    def note(self) -> None:
        """Write what there is no result of; raises `OSError`."""
        if not self._without:
            self._target.unlink(missing_ok=True)
            return
        raw = msgspec.json.encode([document_of(one) for one in self._without.values()])
        write_whole(self._target, raw, lasting=True)


def outstanding(folder: Path, graded: Iterable[Stored]) -> tuple[list[Stored], str]:
    """What a folder's round has no result of; and what is wrong with the note of it."""
    keys = {place_of(one): one.key for one in graded}
    noted, wrong = _read(folder / NOT_GRADED)
    return [one for one in noted if keys.get(place_of(one)) != one.key], wrong


def _waits(key: str, job: Job) -> Stored:
    return _noted(given_up(job, NO_RESULT, AGAIN), key)


def _noted(stored: Stored, key: str) -> Stored:
    """As it is noted: without the file's text, which thousands of would fill a disk."""
    file = msgspec.structs.replace(stored.result.submission, source="")
    result = msgspec.structs.replace(stored.result, submission=file)
    return msgspec.structs.replace(stored, key=key, result=result)


def _read(target: Path) -> tuple[list[Stored], str]:
    try:
        parts = msgspec.json.decode(target.read_bytes(), type=list[msgspec.Raw])
        return [stored_in(bytes(part)) for part in parts], ""
    except FileNotFoundError:
        return [], ""
    except OSError as error:
        return [], f"cannot be read: {error.strerror}"
    except (msgspec.DecodeError, RecursionError, WrongVersion) as error:
        return [], str(error)
