"""Every sandbox passes this: each fault has its name, costs its limit, and leaves nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from textwrap import dedent

import pytest

from harness.border.messages import Step
from harness.border.tensors import Blobs
from harness.border.values import Opaque
from harness.remote import session as session_module
from harness.remote.faults import CandidateFault, Kind
from harness.remote.session import Session
from harness.sandbox.base import MIB, Sandbox
from harness.suite.candidate import Candidate, Reply
from tests.sandbox.submissions import CASES, PRELUDE, Case

SLACK_S = 2.0

SessionOf = Callable[..., Session]


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_fault_has_its_name_and_its_limit(
    case: Case, backend: str, box: Sandbox, session_of: SessionOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    if backend not in case.backends:
        return  # the row says why: it would reach the machine itself
    monkeypatch.setattr(session_module, "IMPORT_LIMIT_S", case.limit_s)
    session = session_of(box, case.source(), memory_bytes=case.memory_mib * MIB)
    candidate = Candidate(session, call_limit_s=case.limit_s)
    session.wait_until_ready()
    if not case.at_import:
        assert candidate.ok() == 1
    if case.before:
        candidate.first()
        time.sleep(0.3)

    started = time.monotonic()
    kind, words = outcome(candidate, case)
    took = time.monotonic() - started

    assert kind in case.kinds, words
    assert re.search(case.words, words), words
    assert took < case.limit_s + SLACK_S
    if not case.at_import:
        candidate.restart()
        assert candidate.ok() == 1  # one fault fails one check; the rest run on
    session.close()


@pytest.mark.usefixtures("nothing_left")
def test_a_worker_that_never_reads_costs_the_limit(box: Sandbox, session_of: SessionOf) -> None:
    source = PRELUDE + dedent("""
        def stop_soon():
            def stop():
                time.sleep(0.1)
                os.kill(os.getpid(), signal.SIGSTOP)
            threading.Thread(target=stop).start()
        """)
    session = session_of(box, source)
    Candidate(session).stop_soon()
    time.sleep(0.3)
    step = Step(1, "call", 0, "ok", [], {}, [], echo=False)

    started = time.monotonic()
    with pytest.raises(CandidateFault) as caught:
        session.run([step], Blobs(parts=[bytes(64 * MIB)]), fresh=True, limit_s=1.0)

    assert caught.value.fault.kind is Kind.HUNG
    assert time.monotonic() - started < 1.0 + SLACK_S
    session.close()


def outcome(candidate: Candidate, case: Case) -> tuple[object, str]:
    """The kind of what happened, and the words a report would have."""
    try:
        value = candidate.f()
    except CandidateFault as error:
        return error.fault.kind, error.fault.words
    if isinstance(value, Reply):
        return "object", ""
    if isinstance(value, list | Opaque):
        return "opaque", repr(value)
    assert type(value) is int
    return value, ""
