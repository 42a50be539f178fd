"""One submission's worker as the judge sees it: started when needed, and never trusted."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

from harness.border.frames import MAX_BLOB_BYTES, BadFrame
from harness.border.messages import (
    PROTOCOL,
    Ended,
    Failed,
    Fork,
    Forked,
    Hello,
    Kill,
    Load,
    Loaded,
    Message,
    NotLoaded,
    NotReady,
    Ready,
    Returned,
    Run,
    Skipped,
    Step,
    Trace,
    Usage,
    Used,
    Watch,
    Watching,
)
from harness.border.tensors import Blobs
from harness.remote.endings import ended_whole, why_ended
from harness.remote.exchange import Exchange, Heard
from harness.remote.faults import CandidateFault, Fault, Kind, OurFault, SandboxLost
from harness.sandbox.base import CannotStart, Running, Sandbox, Spec
from harness.sandbox.link import Late, Lost

START_LIMIT_S = 120.0  # a cold torch import on a busy machine
PARENT_LIMIT_S = 10.0  # forking and killing take milliseconds; past this the sandbox is replaced
KILL_LIMIT_S = 1.0  # a parent that is stopped, or stuck in a write, answers never
IMPORT_LIMIT_S = 20.0
STARTS = 3

Reply = Returned | Failed | Skipped


@dataclass(frozen=True, slots=True)
class Submission:
    """A candidate's file: read once, sent as bytes, loaded under the problem's name."""

    name: str
    source: bytes
    path: str


class Session:
    """Runs programs of calls in the candidate's process; turns every loss into a named fault."""

    def __init__(
        self, sandbox: Sandbox, spec: Spec, submission: Submission, *, watch: tuple[str, ...] = ()
    ) -> None:
        self.submission = submission
        self.spec = spec
        self.restarts = 0  # sandboxes replaced because ours or the engine's failed
        self.slowest_s = 0.0  # of all programs of calls so far
        self.forgives_a_loss = False  # whether the next one may have been the machine's doing
        self.facts: dict[str, str] = {}
        self._sandbox = sandbox
        self.not_checked: dict[str, str] = {}  # what observers cannot tell on this machine
        self._watch = list(watch)
        self._running: Running | None = None
        self._worker: Exchange
        self._ready = False
        self._loaded = False

    # the worker's life

    def start(self) -> None:
        """Start the warm parent without waiting for it."""
        if self._running is not None:
            return
        try:
            self._running = self._sandbox.start(self.spec)
        except CannotStart as error:
            raise OurFault(error.reason, error.remedy) from None
        self._worker = Exchange(self._running.link)
        self._ready = self._loaded = False
        hello = Hello(PROTOCOL, list(self.spec.preload), self._running.limits)
        try:
            self._worker.tell_parent(hello, time.monotonic() + PARENT_LIMIT_S)
        except (Lost, Late):
            return  # said again, with its reason, by whoever waits for READY

    def wait_until_ready(self) -> None:
        """Wait for the warm parent; until then every failure is ours and is tried again."""
        for attempt in range(1, STARTS + 1):
            self.start()
            if self._ready:
                return
            try:
                message = self._worker.parent_says(time.monotonic() + START_LIMIT_S)
            except (Lost, Late, BadFrame) as error:
                note = self._end_sandbox()
                if attempt == STARTS:
                    reason = f"the sandbox did not start, {STARTS} times: {note or error!r}"
                    raise OurFault(reason, "harness doctor") from None
                self.restarts += 1
                continue
            if isinstance(message, NotReady):
                self._end_sandbox()
                raise OurFault(message.reason, "harness doctor")
            if isinstance(message, Ready):
                self.facts = {"python": message.python, **message.facts}
                self._compare_facts()
                self._ready = True

    def _compare_facts(self) -> None:
        """Refuse a sandbox that is not as asked; no candidate's code has run in it yet."""
        assert self._running is not None
        wrong = [
            f"{name} is {self.facts.get(name)}, wanted {wanted}"
            for name, wanted in self._running.expected_facts.items()
            if self.facts.get(name) != wanted
        ]
        if wrong:
            self._end_sandbox()
            reason = "the sandbox is not as it was asked for: " + "; ".join(wrong)
            raise OurFault(reason, "harness doctor")

    def fork(self) -> None:
        """A fresh candidate's process with the file imported, nothing left of earlier calls."""
        self.wait_until_ready()
        deadline = time.monotonic() + PARENT_LIMIT_S
        try:
            self._worker.tell_parent(Fork(), deadline)
            while not isinstance(self._worker.parent_says(deadline), Forked):
                pass  # the end of an earlier process may still be on its way
        except (Lost, Late, BadFrame) as error:
            raise self._sandbox_lost(f"no process could be started in it: {error}") from None
        self._start_watching()
        self._load()

    def forget_process(self) -> None:
        """Let the next call start a fresh process."""
        self._loaded = False

    def _start_watching(self) -> None:
        """Switch the observers on while the process holds nothing of the candidate's."""
        if not self._watch:
            return
        try:
            message = self._ask(Watch(self._watch), [], IMPORT_LIMIT_S, "").message
        except CandidateFault as error:
            raise OurFault(f"kernels cannot be watched: {error}", "harness doctor") from None
        if not isinstance(message, Watching):
            raise OurFault("kernels cannot be watched: another answer came", "harness doctor")
        self.not_checked = message.not_checked

    def _load(self) -> None:
        load = Load(self.submission.name, self.submission.source, self.spec.device)
        message = self._ask(load, [], IMPORT_LIMIT_S, "while it was imported").message
        if isinstance(message, NotLoaded):
            where = message.error
            line = f", line {where.line}" if where.line else ""
            words = f"{where.type}: {where.message}{line}"
            raise CandidateFault(Fault(Kind.NOT_IMPORTABLE, words, error=where))
        if not isinstance(message, Loaded):
            raise self._broke_protocol("it answered before it was asked")
        self._loaded = True

    def take(self, submission: Submission) -> None:
        """Go on with another file in the same warm parent: for files of one author only."""
        self.submission = submission
        self._loaded = False

    def close(self) -> None:
        """End the worker and its sandbox."""
        self._end_sandbox()

    # calls

    def run(
        self,
        steps: list[Step],
        blobs: Blobs,
        *,
        fresh: bool,
        limit_s: float,
        room: int = MAX_BLOB_BYTES,
    ) -> Answers:
        """Run a program; its replies in order, or a `CandidateFault` with the step it died in.

        `room` is how many bytes of tensors may come back.
        """
        if not self._loaded:
            self.fork()
        run = Run(secrets.randbits(62), fresh, steps)
        asked = time.monotonic()
        try:
            heard = self._ask(run, blobs.parts, limit_s, "", room)
        finally:
            self.slowest_s = max(self.slowest_s, time.monotonic() - asked)
        trace = heard.message
        if not isinstance(trace, Trace) or trace.id != run.id:
            raise self._broke_protocol("it answered another question")
        if [reply.id for reply in trace.replies] != [step.id for step in steps]:
            raise self._broke_protocol("it answered other calls than it was asked")
        return Answers(trace.replies, heard.blobs, heard.header_bytes)

    def usage(self) -> Used:
        """What the candidate's process has used so far, as its parent reads it."""
        deadline = time.monotonic() + PARENT_LIMIT_S
        try:
            self._worker.tell_parent(Usage(), deadline)
            message = self._worker.parent_says(deadline)
        except (Lost, Late, BadFrame) as error:
            raise self._sandbox_lost(str(error)) from None
        if isinstance(message, Ended):
            raise self._ended(message, "")
        if not isinstance(message, Used):
            raise self._broke_protocol("its parent answered another question")
        return message

    # one exchange with the candidate's process

    def _ask(
        self,
        message: Message,
        blobs: list[bytes],
        limit_s: float,
        when: str,
        room: int = MAX_BLOB_BYTES,
    ) -> Heard:
        deadline = time.monotonic() + limit_s
        try:
            self._worker.tell_child(message, deadline, blobs)
            heard = self._worker.hear(deadline, room)
        except Late:
            raise self._hung(limit_s, when) from None
        except Lost as error:
            raise self._sandbox_lost(str(error)) from None
        except BadFrame as error:
            raise self._broke_protocol(str(error)) from None
        if heard.from_child:
            return heard
        if not isinstance(heard.message, Ended):
            raise self._broke_protocol("its parent answered another question")
        raise self._ended(heard.message, when)

    # how it ends

    def _hung(self, limit_s: float, when: str) -> CandidateFault:
        step, output = -1, b""
        deadline = time.monotonic() + KILL_LIMIT_S
        self._loaded = False
        try:
            self._worker.tell_parent(Kill(), deadline)
            message = self._worker.parent_says(deadline)
            if isinstance(message, Ended):
                step, output = message.step, message.output
        except (Lost, Late, BadFrame):
            self._end_sandbox()
        words = f"no answer within {limit_s:g} s" + (f" {when}" if when else "")
        return CandidateFault(Fault(Kind.HUNG, words, step, output=output))

    def _ended(self, ended: Ended, when: str) -> CandidateFault:
        self._loaded = False
        kind, words = why_ended(ended)
        words += f" {when}" if when else ""
        return CandidateFault(Fault(kind, words, ended.step, output=ended.output))

    def _broke_protocol(self, words: str) -> CandidateFault:
        self._end_sandbox()
        return CandidateFault(Fault(Kind.PROTOCOL, words))

    def _sandbox_lost(self, words: str) -> CandidateFault | SandboxLost | OurFault:
        """After the file has crossed, a loss is the candidate's, unless the keeper is gone.

        A machine short of memory ends processes too: a loss that may be forgiven is, once.
        """
        running, self._running = self._running, None
        self._ready = self._loaded = False
        ending = ended_whole(running) if running is not None else None
        if ending is not None and ending.keeper_lost:
            return OurFault(f"the sandbox's engine was lost: {ending.note}", "harness doctor")
        if ending is not None and ending.out_of_memory:
            return CandidateFault(Fault(Kind.OUT_OF_MEMORY, "it used more than its memory limit"))
        fault = Fault(Kind.CRASHED, f"it took its whole sandbox down ({words})")
        if self.forgives_a_loss:
            self.forgives_a_loss = False
            self.restarts += 1
            return SandboxLost(fault)
        return CandidateFault(fault)

    def _end_sandbox(self) -> str:
        running, self._running = self._running, None
        self._ready = self._loaded = False
        return ended_whole(running).note if running is not None else ""


@dataclass(frozen=True, slots=True)
class Answers:
    """The replies of one program, the bytes of their tensors and the length of the rest."""

    replies: list[Reply]
    received: bytearray
    header_bytes: int
