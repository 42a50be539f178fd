"""The candidate's process: loads the file, runs programs of calls, answers with their traces.

Nothing here decides anything. Whatever the candidate does to this process, the judge only ever
reads values from it and compares them itself.
"""

from __future__ import annotations

import gc
import mmap
import struct
from pathlib import Path
from typing import Any

import msgspec

from harness.border.frames import TO_CHILD, BadFrame
from harness.border.messages import (
    Failed,
    FromJudgeToChild,
    Load,
    Loaded,
    Message,
    NotLoaded,
    Returned,
    Run,
    Skipped,
    Step,
    Trace,
    Watch,
    Watching,
)
from harness.border.tensors import Blobs
from harness.border.values import pack, unpack
from harness.worker import module as candidate_module
from harness.worker import stream
from harness.worker.observers import Observers

STEP = struct.Struct("<q")


class _Missing(Exception):
    """A step refers to the result of a step that has none."""


class Child:
    """One candidate's module and the results of its calls, by number."""

    def __init__(self, fd: int, folder: Path, progress: mmap.mmap) -> None:
        self._fd = fd
        self._folder = folder
        self._progress = progress
        self._module: Any = None
        self._path = ""
        self._device = "cpu"
        self._observers = Observers([])
        self._results: dict[int, Any] = {}
        self._held = -1  # numbers for objects inside answers count down, away from the judge's
        self._decode = msgspec.msgpack.Decoder(FromJudgeToChild).decode

    def serve(self) -> None:
        """Answer messages until the stream ends."""
        while True:
            _, header, blobs = stream.read_frame(self._fd)
            message = self._decode(header)
            if isinstance(message, Watch):
                self._observers = Observers(message.observers)
                self._send(Watching(self._observers.not_checked))
            elif isinstance(message, Load):
                self._send(self._load(message))
            elif isinstance(message, Run):
                self._run(message, blobs)

    def _send(self, message: Message, blobs: list[bytes] | None = None) -> None:
        stream.write_message(self._fd, TO_CHILD, message, blobs or [])

    def _load(self, message: Load) -> Loaded | NotLoaded:
        self._path = str(self._folder / f"{message.name}.py")
        self._device = message.device
        try:
            self._module = candidate_module.load(message.name, message.source, self._folder)
        except BaseException as error:  # noqa: BLE001 - whatever the import raised is the answer
            return NotLoaded(candidate_module.describe(error, self._path))
        return Loaded(candidate_module.public_names(self._module))

    def _run(self, message: Run, received: bytearray) -> None:
        if message.fresh:
            self._results.clear()
        incoming = Blobs(received=received, device=self._device)
        outgoing = Blobs()
        replies: list[Returned | Failed | Skipped] = []
        for position, step in enumerate(message.steps):
            self._progress[: STEP.size] = STEP.pack(position)
            replies.append(self._step(step, incoming, outgoing))
        self._progress[: STEP.size] = STEP.pack(-1)
        try:
            self._send(Trace(message.id, replies), outgoing.parts)
        except BadFrame:
            self._send(Trace(message.id, [_too_large(step.id) for step in message.steps]))

    def _step(self, step: Step, incoming: Blobs, outgoing: Blobs) -> Returned | Failed | Skipped:
        try:
            args = unpack(step.args, incoming, self._find)
            kwargs = {key: unpack(v, incoming, self._find) for key, v in step.kwargs.items()}
            target = self._find(step.target)
        except _Missing:
            return Skipped(step.id)
        raised: BaseException | None = None
        result = None
        with self._observers.watch(step.op, args, kwargs) as observed:
            try:
                result = self._act(step, target, args, kwargs)
            except BaseException as error:  # noqa: BLE001 - whatever the call raised is the answer
                raised = error
        # Packing is ours: it stays outside what is observed.
        answer = self._answer(step, result, raised, outgoing)
        after = self._after(args, kwargs, outgoing) if step.echo else None
        if after is None and not observed:
            return answer
        return msgspec.structs.replace(answer, after=after, observed=observed or None)

    def _answer(
        self, step: Step, result: Any, raised: BaseException | None, outgoing: Blobs
    ) -> Returned | Failed:
        if raised is not None:
            return Failed(step.id, candidate_module.describe(raised, self._path))
        try:
            result = _taken(result, step.fields)
            value = pack(result, outgoing, self._hold)
        except BaseException as error:  # noqa: BLE001 - a record may lack a field
            return Failed(step.id, candidate_module.describe(error, self._path))
        self._results[step.id] = result
        return Returned(step.id, value)

    def _act(self, step: Step, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if step.op == "call":
            return getattr(target, step.name)(*args, **kwargs)
        if step.op == "read":
            return getattr(target, step.name)
        if step.op == "settle":
            gc.collect()
            gc.freeze()
            return None
        import torch

        if step.op == "generator":
            return torch.Generator(device=self._device).manual_seed(args[0])
        return torch.manual_seed(args[0]) and None

    def _after(self, args: list[Any], kwargs: dict[str, Any], outgoing: Blobs) -> Any:
        whole = Blobs(whole=True)
        packed = pack([args, kwargs], whole, self._hold_unnumbered)
        raw = b"".join(whole.parts)
        outgoing_start, _ = outgoing.append(raw)
        return [packed, outgoing_start, len(raw)]

    def _hold(self, value: object) -> int:
        number = self._held
        self._held -= 1
        self._results[number] = value
        return number

    def _hold_unnumbered(self, value: object) -> int:
        for number, held in self._results.items():
            if held is value:
                return number
        return 0

    def _find(self, number: int) -> Any:
        if number == 0:
            return self._module
        if number not in self._results:
            raise _Missing
        return self._results[number]


def _too_large(step_id: int) -> Returned | Failed | Skipped:
    return Returned(step_id, {"opaque": "an answer too large to send"})


def _taken(result: Any, fields: list[str]) -> Any:
    """The named fields of a record as a tuple, whatever kind of record it is."""
    if not fields:
        return result
    if isinstance(result, tuple) and not hasattr(result, "_fields"):
        if len(result) != len(fields):
            raise TypeError(f"a tuple of {len(result)} where {', '.join(fields)} are wanted")
        return result
    return tuple(getattr(result, name) for name in fields)
