"""From a failure to a finding: replayed in a fresh process, then written as a script."""

from __future__ import annotations

from harness.judge.examples import Failure
from harness.judge.replay import repeats, replay
from harness.remote.faults import CandidateFault, Fault, Kind
from harness.results import Finding
from harness.suite.calls import PENDING, Broke, Call, Record
from harness.suite.candidate import Candidate
from harness.suite.printable import printable
from harness.suite.script import imports, script, show

MAX_PRINTED_CHARS = 2000
MAX_WORDS_CHARS = 8000  # of what was wanted or what came


def find(candidate: Candidate, failure: Failure, first: Failure, *, flaky: bool) -> Finding:
    """The finding for a failure; `first` is the one that was met first, before any shrinking.

    The script is run again alone in a fresh process. When its outcome is not the one that broke
    the check, the longer first failure is tried, and after that the finding is that the answers
    depend on something besides the calls.
    """
    if isinstance(failure.error, Broke) and failure.error.sketch is not None:
        return _written(failure, [])
    for attempt in (failure, first):
        again = replay(candidate, attempt.calls)
        if repeats(attempt.shown, attempt.calls, again):
            return _written(attempt, again)
        if attempt.calls == first.calls:
            break
    return _not_repeating(failure, flaky=flaky)


def _written(failure: Failure, calls: list[Call]) -> Finding:
    wanted, got = _wanted_and_got(failure)
    sketch = failure.error.sketch if isinstance(failure.error, Broke) else None
    fault = failure.error.fault if isinstance(failure.error, CandidateFault) else None
    return Finding(
        fault=(fault.kind if fault else Kind.WRONG).value,
        script=script(calls) if sketch is None else sketch,
        imports=imports(calls),
        wanted=_cut(wanted),
        got=_cut(got),
        calls=_called(failure.calls),
        line=fault.error.line if fault and fault.error else 0,
        code=printable(fault.error.code.strip()) if fault and fault.error else "",
        printed=_printed(fault),
        picture=failure.error.picture if isinstance(failure.error, Broke) else None,
    )


def _wanted_and_got(failure: Failure) -> tuple[str, str]:
    error = failure.error
    if isinstance(error, Broke):
        return error.wanted, error.got
    if isinstance(error, CandidateFault):
        return "an answer", f"{error.fault.kind.value}: {error.fault.words}"
    answered = [call for call in failure.shown if call.value is not PENDING]
    answer = f"; the last answer is {show(answered[0].value)}" if answered else ""
    return "an answer of the form the statement gives", (
        f"one that cannot be read ({type(error).__name__}: {error!s:.120}){answer}"
    )


def _not_repeating(failure: Failure, *, flaky: bool) -> Finding:
    wanted, got = _wanted_and_got(failure)
    how = "the same calls then gave" if flaky else "in a fresh process the same calls give"
    return Finding(
        fault=Kind.LEAKS.value,
        script=script(failure.calls),
        imports=imports(failure.calls),
        wanted=_cut(f"{wanted}, whatever was called before"),
        got=_cut(f"{got}; {how} another answer"),
        calls=_called(failure.calls),
        repeats=False,
    )


def bare(failure: Failure) -> Finding:
    """The finding of answers that cannot be shown: that it broke is known, and nothing else."""
    return Finding(
        fault=Kind.WRONG.value,
        script=[],
        imports=[],
        wanted="an answer of the form the statement gives",
        got=f"one that cannot be shown ({type(failure.error).__name__})",
        calls=_called(failure.calls),
        repeats=False,
    )


def _called(calls: list[Call]) -> list[str]:
    """The candidate's functions that were called, each once, the last one last."""
    names = [call.name for call in calls if call.op == "call" and not call.probe]
    return list(dict.fromkeys(reversed(names)))[::-1]


def _cut(words: str) -> str:
    if len(words) > MAX_WORDS_CHARS:
        words = f"{words[:MAX_WORDS_CHARS]} ... ({len(words):,} characters)"
    return printable(words)


def _printed(fault: Fault | None) -> str:
    if fault is None:
        return ""
    return printable(fault.output.decode("utf-8", "replace")[:MAX_PRINTED_CHARS])


def import_finding(fault: Fault) -> Finding:
    """The one finding of a file that cannot be imported."""
    where = fault.error
    return Finding(
        fault=fault.kind.value,
        script=[],
        imports=[],
        wanted="a file that can be imported",
        got=printable(fault.words),
        line=where.line if where else 0,
        code=printable(where.code.strip()) if where else "",
        printed=_printed(fault),
    )


def changed_argument(record: Record) -> Failure:
    """The failure of a call that changed an argument, seen while another check was running."""
    call = next(call for call in record.calls if call.changed_arguments)
    error = Broke("the arguments as they were", "other values after the call")
    return Failure(record.up_to([call]), error, [call])
