"""The closed set of messages that cross between judge, warm parent and candidate's process."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

PROTOCOL = 1  # both sides must agree; the image carries its own copy

# What a candidate's process says of its exceptions ends up in reports; the longest it may be.
MAX_NAME_CHARS = 120
MAX_MESSAGE_CHARS = 2000
MAX_CODE_CHARS = 200
MAX_BASES = 32
MAX_LINE = 10_000_000

Name = Annotated[str, msgspec.Meta(max_length=MAX_NAME_CHARS)]


class Message(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag=True, tag_field="kind"):
    """One message. Unknown fields, missing fields and unknown tags are refused when decoded."""


# judge -> parent


class Limits(Message, frozen=True):
    """What a candidate's process may use; time is on the judge's clock."""

    memory_bytes: int
    file_bytes: int
    output_bytes: int
    processes: int
    open_files: int
    threads: int
    alone: bool  # temporary folders and control group are this sandbox's own, down to the last file


class Hello(Message, frozen=True):
    """The first message: which modules to import before the first fork, and the limits."""

    protocol: int
    preload: list[str]
    limits: Limits


class Fork(Message, frozen=True):
    """Start a candidate's process; an earlier one is ended first."""


class Kill(Message, frozen=True):
    """End the candidate's process and everything it started."""


class Usage(Message, frozen=True):
    """Ask what the candidate's process has used so far."""


# parent -> judge


class Ready(Message, frozen=True):
    """The parent has imported what it was asked to. Sent before any candidate's code exists."""

    protocol: int
    python: str
    threads: int
    facts: dict[str, str]


class NotReady(Message, frozen=True):
    """The parent cannot serve: a module is missing, or the protocol is another one."""

    reason: str


class Forked(Message, frozen=True):
    """A fresh candidate's process exists."""


class Ended(Message, frozen=True):
    """The candidate's process is gone, and everything it started with it."""

    exit_code: int  # -1 when a signal ended it
    signal: int  # 0 when it exited
    step: int  # position in the program it was running, from 0; -1 outside a program
    out_of_memory: bool
    flooded: bool  # it printed more than its limit
    bad_frame: str  # why its bytes were refused; empty when they were not
    output: bytes  # the head of what it printed


class Used(Message, frozen=True):
    """CPU time and peak memory of the candidate's process, read from outside it."""

    cpu_ns: int
    peak_bytes: int


# judge -> candidate's process


class Watch(Message, frozen=True):
    """Switch observers on: "torch", "triton". Sent before the candidate's source, so that the
    answer is still the harness's own."""

    observers: list[str]


class Load(Message, frozen=True):
    """Import the candidate's source as module `name`. `device` is where tensors go."""

    name: str
    source: bytes
    device: str


class Step(Message, frozen=True):
    """One call. `target` is the id of an earlier result, or 0 for the candidate's module."""

    id: int
    op: str  # "call", "read", "generator", "seed", "settle"
    target: int
    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    fields: list[str]  # take these named fields from the result, as a tuple
    echo: bool  # send the arguments back as they are after the call


class Run(Message, frozen=True):
    """A program: its steps are run in order, and one `Trace` answers them all."""

    id: int
    fresh: bool  # forget all earlier results first
    steps: list[Step]


# candidate's process -> judge


class Where(Message, frozen=True):
    """An exception, in the candidate's own terms."""

    type: Name
    bases: Annotated[list[Name], msgspec.Meta(max_length=MAX_BASES)]  # as "builtins.ValueError"
    message: Annotated[str, msgspec.Meta(max_length=MAX_MESSAGE_CHARS)]
    line: Annotated[int, msgspec.Meta(ge=0, le=MAX_LINE)]  # deepest in the candidate's file, or 0
    code: Annotated[str, msgspec.Meta(max_length=MAX_CODE_CHARS)]  # that line's text


class Watching(Message, frozen=True):
    """Observers are on. `not_checked` says which checks do not work here, and why."""

    not_checked: dict[str, str]


class Loaded(Message, frozen=True):
    """The module is imported. `names` are its public callables."""

    names: list[str]


class NotLoaded(Message, frozen=True):
    """The import raised."""

    error: Where


class Returned(Message, frozen=True):
    """A step returned. `after` holds its arguments when the step asked for them."""

    id: int
    value: Any
    after: Any = None
    observed: Any = None


class Failed(Message, frozen=True):
    """A step raised."""

    id: int
    error: Where
    after: Any = None
    observed: Any = None


class Skipped(Message, frozen=True):
    """A step needed the result of one that failed."""

    id: int


class Trace(Message, frozen=True):
    """The answers to one program, a reply a step, in order."""

    id: int
    replies: list[Returned | Failed | Skipped]


FromJudgeToParent = Hello | Fork | Kill | Usage
FromParent = Ready | NotReady | Forked | Ended | Used
FromJudgeToChild = Watch | Load | Run
FromChild = Watching | Loaded | NotLoaded | Trace

encode = msgspec.msgpack.Encoder().encode
