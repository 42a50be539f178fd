"""The candidate's file as a suite sees it: call it as if it were local, or a program at a time."""

from __future__ import annotations

import builtins
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from harness.border.frames import BadFrame
from harness.border.messages import Step, Used
from harness.border.tensors import Blobs
from harness.border.values import Object, pack
from harness.remote.faults import CandidateFault, Fault, Kind, TimeSpent
from harness.remote.session import Answers, Session
from harness.suite.calls import PENDING, Broke, Call, Raised, Record
from harness.suite.crossing import fill

ROOM_BYTES = 256 * 1024 * 1024  # of the judge's memory, for the answers of one example
HEADER_WEIGHT, CONTAINER_WEIGHT = 16, 64  # bytes here for a byte of numbers and words, for a list
MUTABLE = ("list", "dict", "set", "Tensor")


class Candidate:
    """A submission: `candidate.allocate_all(4)` calls it, `candidate.program()` plans many calls.

    A call that raises raises `Raised` here; `candidate.attempt(name, ...)` gives the reply instead.
    Objects of the candidate's own come back as replies whose methods are called the same way.
    """

    def __init__(
        self,
        session: Session,
        *,
        records: dict[str, tuple[str, ...]] | None = None,
        call_limit_s: float = 10.0,
        until: float = float("inf"),
        strict_arguments: bool = False,
    ) -> None:
        self._session = session
        self._records = records or {}
        self._call_limit_s = call_limit_s
        self._until = until
        self._strict_arguments = strict_arguments
        self._number = 0
        self._fresh = True
        self._record = Record()
        self._room = ROOM_BYTES
        self._changed: list[Record] = []

    def __getattr__(self, name: str) -> Asking:
        if name.startswith("_"):
            raise AttributeError(name)
        return Asking(self, None, name)

    def attempt(self, name: str, *args: Any, **kwargs: Any) -> Reply:
        """Call a function or class of the file; the reply holds what it raised, if it did."""
        program = self.program()
        reply = program.call(name, *args, **kwargs)
        program.run()
        return reply

    def program(self, *, echo: bool = True) -> Program:
        """A plan of calls that crosses in one trip. `echo=False` skips the look at arguments."""
        return Program(self, echo=echo)

    def in_turn(self) -> Program:
        """A plan that reads as calls made one by one; it runs when a reply is first looked at.

        A look raises `Raised` for the first call before that reply that raised, unless it was
        planned by `attempt`.
        """
        return Program(self, echo=True, in_turn=True)

    def generator(self, seed: int) -> Reply:
        """A `torch.Generator` that lives beside the candidate and advances from call to call."""
        program = self.program()
        reply = program.generator(seed)
        program.run()
        return reply

    def used(self) -> Used:
        """CPU nanoseconds and peak bytes of the candidate's process, read from outside it."""
        return self._session.usage()

    def settle(self) -> None:
        """Collect garbage now and let later collections pass over what is alive."""
        program = self.program()
        program.plan("settle", None, "settle", (), {}, probe=True)
        program.run()

    def restart(self) -> None:
        """Go on in a fresh process: nothing of earlier calls is left, memory is at its floor."""
        self._session.fork()
        self.begin_example()

    @property
    def device(self) -> str:
        """Where tensors are, on the candidate's side."""
        return self._session.spec.device

    # for the judge

    def begin_example(self) -> Record:
        """Forget the calls so far, here and in the worker."""
        self._record = Record()
        self._fresh = True
        self._room = ROOM_BYTES
        return self._record

    @property
    def record(self) -> Record:
        return self._record

    @property
    def not_checked(self) -> dict[str, str]:
        """What cannot be observed on this machine."""
        return self._session.not_checked

    @property
    def changed_arguments(self) -> list[Record]:
        """Examples in which a call changed an argument it was given."""
        return self._changed

    def limit_time(self, until: float) -> None:
        """No call starts after `until`, a reading of `time.monotonic`."""
        self._until = until

    def limit_calls(self, seconds: float) -> None:
        """A trip that takes longer is reported as hung."""
        self._call_limit_s = seconds

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def execute(self, calls: list[Call], *, echo: bool) -> None:
        """Run planned calls in one trip and fill in their outcomes."""
        if time.monotonic() > self._until:
            raise TimeSpent
        for call in calls:
            self._record.add(call)
        outgoing = Blobs(whole=True)
        steps = [self._step(call, outgoing, echo) for call in calls]
        fresh, self._fresh = self._fresh, False
        try:
            answers = self._session.run(
                steps, outgoing, fresh=fresh, limit_s=self._call_limit_s, room=self._room
            )
            self._fill(calls, answers)
        except CandidateFault as error:
            position = error.fault.step if 0 <= error.fault.step < len(calls) else len(calls) - 1
            calls[position].fault = error.fault
            raise
        changed = [call for call in calls if call.changed_arguments]
        if changed and self._strict_arguments:
            raise Broke("the arguments as they were", "other values after the call", at=changed[0])
        if changed and not self._changed:  # one shows it
            self._changed.append(Record(list(self._record.calls)))

    def _step(self, call: Call, outgoing: Blobs, echo: bool) -> Step:
        given = (*call.args, *call.kwargs.values()) if call.kwargs else call.args
        return Step(
            id=call.id,
            op=call.op,
            target=0 if call.target is None else call.target.id,
            name=call.name,
            args=[pack(value, outgoing, _number) for value in call.args],
            kwargs={key: pack(value, outgoing, _number) for key, value in call.kwargs.items()},
            fields=list(self._records.get(call.name, ())),
            echo=echo and call.op == "call" and any(type(v).__name__ in MUTABLE for v in given),
        )

    def _fill(self, calls: list[Call], answers: Answers) -> None:
        torch_problem = "torch" in self._session.spec.preload
        incoming = Blobs(received=answers.received, device="cpu" if torch_problem else "")
        try:
            for call, reply in zip(calls, answers.replies, strict=True):
                fill(call, reply, incoming)
            self._room -= len(answers.received) + HEADER_WEIGHT * answers.header_bytes
            self._room -= CONTAINER_WEIGHT * incoming.containers
            if self._room < 0:
                raise BadFrame("more answers than there is memory for in one example")
        except BadFrame as error:
            self._session.close()
            raise CandidateFault(Fault(Kind.PROTOCOL, str(error))) from None
        for call in calls:
            if call.fault is not None:
                raise CandidateFault(call.fault)


def _number(value: object) -> int:
    """What an object of the candidate's own, as a suite holds it, is called in the worker."""
    asked = getattr(value, "asked", None)
    if not isinstance(asked, Call):
        raise TypeError(f"a suite cannot send {value!r:.80}")
    return asked.id


class Asking:
    """A name of the candidate's, about to be called."""

    def __init__(self, candidate: Candidate, target: Call | None, name: str) -> None:
        self._candidate = candidate
        self._target = target
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        program = self._candidate.program()
        reply = program.plan("call", self._target, self._name, args, kwargs)
        program.run()
        value = reply.value
        return reply if isinstance(value, Object) else value


class Reply:
    """The answer to one call; once it has crossed, its value or what it raised.

    Attributes that are not its own are methods of the object it stands for: called at once when
    the reply is known, planned when its program has not run.
    """

    def __init__(self, candidate: Candidate, asked: Call, program: Program) -> None:
        self.asked = asked
        self._candidate = candidate
        self._program = program

    @property
    def ok(self) -> bool:
        """Whether the call returned."""
        self._program.comes_to(self.asked)
        return self.asked.value is not PENDING

    @property
    def not_checked(self) -> dict[str, str]:
        """What cannot be observed on this machine, as the worker said before it held the file."""
        return self._candidate.not_checked

    @property
    def value(self) -> Any:
        """What the call returned; raises `Raised` when it, or a call it needed, raised."""
        self._program.comes_to(self.asked)
        failed = self.asked.failed()
        if failed is not None and failed.error is not None:
            raise Raised(failed, failed.error)
        if self.asked.value is PENDING:
            raise RuntimeError(f"{self.asked.name} has no answer yet: run the program first")
        return self.asked.value

    def raised(self, *names: str) -> bool:
        """Whether the call raised one of these: a built-in, or a class of the candidate's file."""
        self._program.comes_to(self.asked)
        error = self.asked.error
        if error is None:
            return False
        wanted = {f"builtins.{name}" if hasattr(builtins, name) else name for name in names}
        return not wanted.isdisjoint(error.bases)

    def read(self, name: str, *, probe: bool = False) -> Any:
        """An attribute or property: its value, or a planned reply."""
        return self._ask("read", name, (), {}, probe=probe)

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """A method by name, for names this class has itself."""
        return self._ask("call", name, args, kwargs)

    def attempt(self, name: str, *args: Any, **kwargs: Any) -> Reply:
        """Call a method now, or plan it; the reply holds what it raised, if it did."""
        if not self._program.done:
            return self._program.plan("call", self.asked, name, args, kwargs, may_raise=True)
        program = self._candidate.program()
        reply = program.plan("call", self.asked, name, args, kwargs)
        program.run()
        return reply

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self._ask("call", name, args, kwargs)

    def _ask(self, op: str, name: str, args: Any, kwargs: Any, *, probe: bool = False) -> Any:
        if not self._program.done:
            return self._program.plan(op, self.asked, name, args, kwargs, probe=probe)
        program = self._candidate.program()
        reply = program.plan(op, self.asked, name, args, kwargs, probe=probe)
        program.run()
        value = reply.value
        return reply if isinstance(value, Object) else value


class Program:
    """A plan of calls. Building it sends nothing; `run` sends it all and fills in the replies."""

    def __init__(self, candidate: Candidate, *, echo: bool, in_turn: bool = False) -> None:
        self.done = False
        self._in_turn = in_turn
        self._first_raised: Call | None = None
        self._candidate = candidate
        self._echo = echo
        self._calls: list[Call] = []
        self._probing = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.call(name, *args, **kwargs)

    def call(self, name: str, *args: Any, **kwargs: Any) -> Reply:
        """Plan a call of a function or class of the file."""
        return self.plan("call", None, name, args, kwargs)

    def attempt(self, name: str, *args: Any, **kwargs: Any) -> Reply:
        """Plan a call that may raise."""
        return self.plan("call", None, name, args, kwargs, may_raise=True)

    def generator(self, seed: int) -> Reply:
        """Plan a `torch.Generator` with this seed."""
        return self.plan("generator", None, "Generator", (seed,), {})

    def seed_global(self, seed: int) -> Reply:
        """Plan `torch.manual_seed`: what `generator=None` draws from."""
        return self.plan("seed", None, "manual_seed", (seed,), {})

    @contextmanager
    def probing(self) -> Iterator[None]:
        """Calls planned inside are looks, left out of a script unless a finding shows them."""
        self._probing = True
        try:
            yield
        finally:
            self._probing = False

    def plan(
        self,
        op: str,
        target: Call | None,
        name: str,
        args: Any,
        kwargs: Any,
        *,
        probe: bool = False,
        may_raise: bool = False,
    ) -> Reply:
        if self.done:
            raise RuntimeError("this program has run; make another")
        number = self._candidate.next_number()
        probe = probe or self._probing
        call = Call(number, op, target, name, tuple(args), dict(kwargs), probe, may_raise)
        self._calls.append(call)
        return Reply(self._candidate, call, self)

    def all_answered(self) -> None:
        """Raise `Raised` for the first call of the plan that raised."""
        for call in self._calls:
            if call.error is not None:
                raise Raised(call, call.error)

    def comes_to(self, call: Call) -> None:
        """Before a look at a plan in turn: run it; raise `Raised` for what raised before."""
        if self._in_turn and not self.done:
            self.run()
        first = self._first_raised
        if first is not None and first.error is not None and first.id < call.id:
            raise Raised(first, first.error)

    def run(self) -> None:
        """Send the plan; raises `CandidateFault` when the worker is lost in it."""
        self.done = True
        self._candidate.execute(self._calls, echo=self._echo)
        if self._in_turn:
            raised = (call for call in self._calls if call.error and not call.may_raise)
            self._first_raised = next(raised, None)
