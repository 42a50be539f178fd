"""Wrong answers: small named edits of a reference, each with the check that must catch it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

from harness.problems import BadPack, Problem


@dataclass(frozen=True, slots=True)
class Wrong:
    """One wrong answer. `edits` pair a text found once in the reference with its new text.

    `levels`: the verdicts it may get, where the kind of the check that catches it says too little.
    """

    name: str
    caught_by: str
    mistake: str
    edits: tuple[tuple[str, str], ...]
    levels: frozenset[str] = frozenset()

    def source(self, reference: str) -> str:
        """The reference with the edits made; raises `BadPack` when one does not fit."""
        for find, replace in self.edits:
            if reference.count(find) != 1:
                raise BadPack(
                    f"{self.name}: an edit's text stands {reference.count(find)} times "
                    f"in the reference, not once: {find.strip()[:60]!r}"
                )
            reference = reference.replace(find, replace)
        return reference


def read_wrong(problem: Problem) -> list[Wrong]:
    """The wrong answers that ship with a problem."""
    try:
        document = tomllib.loads(problem.wrong.read_text(encoding="utf-8"))
        return [
            Wrong(
                name=entry["name"],
                caught_by=entry["caught_by"],
                mistake=entry["mistake"],
                edits=tuple((edit["find"], edit["replace"]) for edit in entry["edits"]),
                levels=frozenset(entry.get("levels", ())),
            )
            for entry in document["wrong"]
        ]
    except FileNotFoundError:
        raise BadPack(f"{problem.slug} has no wrong answers: {problem.wrong} is missing") from None
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise BadPack(f"{problem.wrong} cannot be read: {error!r}") from None
