"""The candidate's tests against one answer: in a fresh process of a sandbox, under its limits."""

from __future__ import annotations

import importlib.resources
from dataclasses import dataclass

from harness.problems import Problem
from harness.remote.faults import CandidateFault, Fault, Kind
from harness.remote.session import Session, Submission
from harness.sandbox.base import Sandbox, Spec
from harness.suite.calls import Raised
from harness.suite.candidate import Candidate

RUNNER = "harness_own_tests"  # the module's name in the worker
FILE = "test_own.py"  # its name there, and in the names of tests
ENDS = ("passed", "failed", "skipped")


@dataclass(frozen=True, slots=True)
class Ran:
    """How each test ended, by name, as the worker claims. `lost`: the run itself did not end."""

    ended: dict[str, str]
    lost: str = ""

    def names(self, how: str) -> set[str]:
        return {name for name, end in self.ended.items() if end == how}


def open_tests(problem: Problem, sandbox: Sandbox, device: str = "cpu") -> Session:
    """A session whose warm parent has pytest imported; nothing of the tests is in it yet."""
    spec = Spec(preload=(*problem.needs, "pytest", "hypothesis"), device=device)
    return Session(sandbox, spec, Submission(RUNNER, b"", "the tests"))


def run_tests(
    session: Session,
    name: str,
    tests: bytes,
    answer: bytes,
    *,
    limit_s: float,
    only: set[str] | None = None,
) -> Ran:
    """Run all tests, or `only` some up to the first that fails, against an answer."""
    session.take(Submission(RUNNER, _source(name, tests, answer, only), "the tests"))
    candidate = Candidate(session, call_limit_s=limit_s)
    try:
        session.fork()
        return _read(candidate.attempt("outcomes").value)
    except CandidateFault as error:
        return Ran({}, lost=_in_words(error.fault))
    except Raised:
        return Ran({}, lost="they ended pytest itself")


def _source(name: str, tests: bytes, answer: bytes, only: set[str] | None) -> bytes:
    text = importlib.resources.files("harness.own_tests").joinpath("runner.py").read_bytes()
    chosen = None if only is None else sorted(only)
    given = {"name": name, "answer": answer, "tests": tests, "only": chosen}
    return text + f"\n\nGIVEN.update({given!r})\n".encode()


def _read(claimed: object) -> Ran:
    """Exact strings or nothing: whatever else came was not written by the runner."""
    if not isinstance(claimed, list):
        return Ran({}, lost="they answered in pytest's place")
    ended = {}
    for pair in claimed:
        match pair:
            case [str(name), str(end)] if end in ENDS:
                ended[name] = end
            case _:
                return Ran({}, lost="they answered in pytest's place")
    return Ran(ended)


def _in_words(fault: Fault) -> str:
    words = {
        Kind.HUNG: "no end within their time",
        Kind.OUT_OF_MEMORY: "they used more than their memory limit",
        Kind.PROTOCOL: "they answered in pytest's place",
        Kind.FLOODED: "they printed more than their limit",
    }
    return words.get(fault.kind, "they ended the process")
