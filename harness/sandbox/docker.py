"""The isolating sandbox: one Docker container a submission, used once, removed whatever happens.

The judge is attached before the container starts, so no byte is lost; it shuts its stream down
before it asks for the end, because an engine serves no kill while an unread stream is open.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import time
from typing import Any

from harness.border.messages import Limits
from harness.sandbox import container, engine
from harness.sandbox.base import CannotStart, Ending, Spec, process_limits
from harness.sandbox.demux import Demux
from harness.sandbox.link import Link

END_LIMIT_S = 5  # for an exit status after the stream has ended
START_LIMIT_S = 60.0
MAKING_S = 0.2  # what an engine takes to make a container, and more
OOM_EXIT = 137


class DockerSandbox:
    """Starts warm parents in containers. `gpu` is a UUID or "all"."""

    name = "docker"

    def __init__(self, image: str = engine.IMAGE, *, runtime: str | None = None,
                 cpuset: str | None = None, gpu: str | None = None) -> None:  # fmt: skip
        self._image = image
        self._runtime = runtime
        self._cpuset = cpuset
        self._gpu = gpu
        self._version = ""
        self._digest = ""

    def start(self, spec: Spec) -> DockerRunning:
        """Attach, start and return at once: modules are imported while the judge does other things.

        A started, idle worker is what saves time; call this early.
        """
        if not self._digest:
            self._look()
        client = engine.connect(self._version)
        try:
            return self._start(client, spec)
        except BaseException:
            client.close()
            raise

    def describe(self) -> str:
        runtime = self._runtime or "runc"
        return f"Docker container ({runtime}, {self._image}): no network, read-only, no privileges"

    @property
    def image(self) -> str:
        """The image by its digest, the same one for every start; "" while no engine says it."""
        if not self._digest:
            with contextlib.suppress(CannotStart):
                self._look()
        return self._digest

    def sweep(self) -> int:
        """Remove the containers of judges on this machine that are dead; how many there were."""
        client = engine.connect(self._version or "auto")
        with contextlib.closing(client):
            return engine.sweep(client)

    def _look(self) -> None:
        """Once: the engine's version, the image, and what dead judges left."""
        client = engine.connect()
        with contextlib.closing(client):
            digest = engine.usable_image(client, self._image)
            engine.sweep(client)
            self._version, self._digest = client._version, digest

    def _start(self, client: Any, spec: Spec) -> DockerRunning:
        gpu = (self._gpu or "all") if spec.device == "cuda" else None
        asked = container.arguments(spec, runtime=self._runtime, cpuset=self._cpuset, gpu=gpu)
        token = secrets.token_hex(8)
        name = f"harness-{token}"
        try:
            with engine.refusals():
                made = client.create_container(
                    self._digest, name=name, labels=engine.labels(token), **asked
                )
        except BaseException:  # stopped while the engine makes it: it may be there all the same
            time.sleep(MAKING_S)
            engine.remove(client, name)
            raise
        try:
            self._confirm(client, made, asked["host_config"])
            with engine.refusals():
                attached = client.attach_socket(
                    made["Id"], params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
                )
            running = DockerRunning(client, made["Id"], attached, spec, self._runtime)
        except BaseException:
            engine.remove(client, made["Id"])
            raise
        if gpu is not None:
            running.wait_until_started()  # an engine says only now that it has no GPU
        return running

    def _confirm(self, client: Any, made: dict[str, Any], asked: dict[str, Any]) -> None:
        """Raise `CannotStart` when the engine left out a limit it was asked for."""
        with engine.refusals():
            applied = client.inspect_container(made["Id"])["HostConfig"]
        wrong = container.ignored(asked, applied)
        wrong += [said for said in made.get("Warnings") or [] if "not support" in said]
        if wrong:
            raise CannotStart("the engine ignored a limit: " + "; ".join(wrong), "docker info")


class DockerRunning:
    """A started container."""

    def __init__(self, client: Any, ident: str, attached: Any, spec: Spec,
                 runtime: str | None) -> None:  # fmt: skip
        sock = attached._sock
        if type(sock) is not socket.socket:
            attached.close()
            raise CannotStart("only an engine on this machine's own socket can be used",
                              "docker context use default")  # fmt: skip
        self._client = client
        self.ident = ident
        self._attached = attached  # closes the socket it holds when it is collected
        self._sock = sock
        self._demux = Demux()
        self.link = Link(sock, self._demux)
        self.limits: Limits = process_limits(spec, count_processes=False, alone=True)
        self.expected_facts = container.expected_facts(runtime)
        self._refused: CannotStart | None = None
        self._ending: Ending | None = None
        self._starting = threading.Thread(target=self._start, daemon=True)
        self._starting.start()

    def wait_until_started(self) -> None:
        """Wait for the engine; raise what it refused the start with."""
        self._starting.join(START_LIMIT_S)
        if self._refused is not None:
            self.end()
            raise self._refused

    def end(self) -> Ending:
        if self._ending is None:
            ended_by_itself = _at_end(self._sock)
            self.link.close()
            self._attached.close()
            self._starting.join(START_LIMIT_S)
            self._ending = self._remove(ended_by_itself)
            self._client.close()
        return self._ending

    def _start(self) -> None:
        try:
            with engine.refusals():
                self._client.start(self.ident)
        except CannotStart as error:
            self._refused = error
            with contextlib.suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)  # whoever waits for READY waits no longer

    def _remove(self, ended_by_itself: bool) -> Ending:
        state, lost = self._state(ended_by_itself)
        lost = engine.remove(self._client, self.ident) or lost or self._demux.fault
        note = lost or (self._refused.reason if self._refused else "")
        exit_code = state.get("ExitCode") if state and not state["Running"] else None
        return Ending(
            exit_code=exit_code,
            out_of_memory=bool(state.get("OOMKilled")) and exit_code == OOM_EXIT,
            keeper_lost=bool(lost),
            note=note or self._demux.notes.decode(errors="replace").strip(),
        )

    def _state(self, ended_by_itself: bool) -> tuple[dict[str, Any], str]:
        """How the container stands, and what is wrong with its engine."""
        deadline = time.monotonic() + (END_LIMIT_S if ended_by_itself else 0)
        try:
            with engine.refusals():
                while True:
                    state = self._client.inspect_container(self.ident)["State"]
                    if not state["Running"] or time.monotonic() > deadline:
                        return state, ""
                    time.sleep(0.005)
        except CannotStart as error:
            return {}, error.reason


def _at_end(sock: socket.socket) -> bool:
    """Whether the other side has closed the stream and everything it sent was read."""
    try:
        return not sock.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
