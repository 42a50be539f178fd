"""How much a candidate's own tests see: of the wrong answers, of the right ones, of their own file.

Advice, never a part of the level: the tests run beside the answer they test and are their own
witness. A wrong answer counts as caught only by tests that held on every right answer.
"""

from __future__ import annotations

import hashlib
import random
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.authoring.wrong import read_wrong
from harness.own_tests.one_run import FILE, Ran, open_tests, run_tests
from harness.problems import Problem
from harness.remote.faults import OurFault
from harness.remote.session import Session
from harness.results import OwnTests
from harness.sandbox.base import Sandbox
from harness.suite.printable import printable

QUICK_MISTAKES = 20
DECOYS = 3  # right answers among the wrong ones
RIGHT_LIMIT_S = 30.0
LEAST_S, TIMES = 3.0, 10.0  # what a wrong answer may take: so many times what the reference took
MOST_NAMES, MOST_CHARS = 10, 100
REFERENCE, AGAIN = "the reference", "the reference, again"

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Given:
    """The candidate's tests, and what they are tried on."""

    path: str
    source: bytes
    own_file: bytes


class _Late(Exception):
    """The time for all of it is used up."""


def judge_tests(
    problem: Problem,
    tests: Given,
    sandbox: Sandbox,
    *,
    seed: int,
    whole: bool,
    run_s: float,
    device: str = "cpu",
    tell: Tell = lambda words: None,
) -> OwnTests:
    """Run the tests against everything. `whole`: every wrong answer, not a sample by the seed."""
    session = open_tests(problem, sandbox, device)
    try:
        return _Judge(problem, tests, session, time.monotonic() + run_s, tell).all(seed, whole)
    except OurFault as error:
        return _about(tests, note=f"not run: {_cause(error)}")
    except _Late:
        return _about(tests, note="the time for right answers alone was used up")
    finally:
        session.close()


def _cause(error: OurFault) -> str:
    if "no module pytest" in error.reason or "no module hypothesis" in error.reason:
        return "the sandbox's image has no pytest (harness image build)"
    return error.reason


@dataclass(slots=True)
class _Judge:
    _problem: Problem
    _tests: Given
    _session: Session
    _until: float
    _tell: Tell
    _limit_s: float = RIGHT_LIMIT_S

    def all(self, seed: int, whole: bool) -> OwnTests:
        # Their own file first: nothing seen of other answers can then stand in a test's name.
        own = self._run(self._tests.own_file)
        began = time.monotonic()
        reference = self._run(self._problem.reference.read_bytes())
        self._limit_s = LEAST_S + TIMES * (time.monotonic() - began)
        note = _nothing_to_count(self._problem.slug, reference)
        if note:
            return _about(self._tests, note=note, fails=_failed(own))
        rights = self._rights(reference)
        sound = set.intersection(*(ran.names("passed") for ran in rights.values()))
        refused = [name for name, ran in rights.items() if ran.lost or ran.names("failed")]
        mistakes, decoys, of = self._mistakes(sound, seed, whole)
        return _about(
            self._tests,
            tests=len(reference.ended),
            caught=_caught(sound, mistakes, decoys),
            mistakes=len(mistakes),
            of=of,
            refuses=[name for name in refused if name != AGAIN],
            fails=_failed(own),
            flaky=reference.ended != rights[AGAIN].ended
            or any(ran.lost or ran.names("failed") for ran in decoys),
        )

    def _rights(self, reference: Ran) -> dict[str, Ran]:
        """Every right answer; the reference stands twice, to see tests that are of two minds."""
        rights = {REFERENCE: reference}
        rights[AGAIN] = self._run(self._problem.reference.read_bytes())
        for path in self._problem.right:
            rights[path.name] = self._run(path.read_bytes())
        return rights

    def _mistakes(
        self, sound: set[str], seed: int, whole: bool
    ) -> tuple[list[Ran], list[Ran], int]:
        """The runs on wrong answers, those on right ones among them, and how many there are."""
        wrongs = read_wrong(self._problem)
        text = self._problem.reference.read_text(encoding="utf-8")
        order = random.Random(seed).sample(wrongs, len(wrongs))
        chosen = order if whole else order[:QUICK_MISTAKES]
        runs = [(wrong.source(text), True) for wrong in chosen]
        for _ in range(DECOYS):  # where nobody can foresee: a test may count its runs
            runs.insert(secrets.randbelow(len(runs) + 1), (text, False))
        found: tuple[list[Ran], list[Ran]] = ([], [])
        if not sound:
            return [Ran({})] * len(chosen), [], len(wrongs)
        for number, (source, is_wrong) in enumerate([*runs, (text, False)], 1):
            self._tell(f"the tests of your own, run {number} of {len(runs) + 1}")
            try:
                found[0 if is_wrong else 1].append(self._run(source.encode(), only=sound))
            except _Late:
                break
        return *found, len(wrongs)

    def _run(self, answer: bytes, only: set[str] | None = None) -> Ran:
        left = self._until - time.monotonic()
        if left <= 0:
            raise _Late
        return run_tests(
            self._session,
            self._problem.slug,
            self._tests.source,
            answer,
            limit_s=min(self._limit_s, left) if only is None else self._limit_s,
            only=only,
        )


def _caught(sound: set[str], mistakes: list[Ran], decoys: list[Ran]) -> int:
    """How many runs on a wrong answer failed in a test that no right answer has failed.

    A wrong answer may hang or crash under sound tests: that is seeing it, too.
    """
    doubtful = set.union(set(), *(ran.names("failed") for ran in decoys))
    trusted = {*sound, FILE} - doubtful
    loses = any(ran.lost for ran in decoys)
    return sum(bool(ran.names("failed") & trusted or (ran.lost and not loses)) for ran in mistakes)


def _nothing_to_count(slug: str, reference: Ran) -> str:
    if reference.lost:
        return f"on a right answer, {reference.lost}"
    if reference.ended == {FILE: "failed"}:
        return f"they cannot be collected; they import from {slug}, as in `from {slug} import ...`"
    if not reference.ended:
        return "no tests were found in it"
    return ""


def _failed(ran: Ran) -> list[str]:
    """The tests that fail on the candidate's own file, by name."""
    if ran.lost:
        return [f"all: {ran.lost}"]
    names = (printable(name.removeprefix(f"{FILE}::")) for name in sorted(ran.names("failed")))
    return [name[:MOST_CHARS] for name in names][:MOST_NAMES]


def _about(about: Given, **found: Any) -> OwnTests:
    nothing = {"tests": 0, "caught": 0, "mistakes": 0}
    return OwnTests(
        path=printable(about.path),
        sha256=hashlib.sha256(about.source).hexdigest(),
        **(nothing | found),
    )
