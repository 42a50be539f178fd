"""A Docker engine of the tests' own, that may be stopped, killed, started again and filled up."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.sandbox import image

START_LIMIT_S = 60.0
BASE = "harness-base"  # what the image of the first engine stands on


class Engine:
    """One `dockerd` with a folder and a socket of its own; has no network and no other's images."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"unix://{folder}/sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        name = f"tests-{os.getpid()}"
        command = [
            "dockerd", "--host", self.address,
            "--data-root", str(self.folder / "data"), "--exec-root", str(self.folder / "run"),
            "--pidfile", str(self.folder / "pid"), "--shutdown-timeout", "1",
            "--bridge=none", "--iptables=false", "--ip-forward=false",
            "--containerd-namespace", name, "--containerd-plugins-namespace", f"{name}-plugins",
        ]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + START_LIMIT_S
        while self.docker("version", check=False).returncode:
            assert time.monotonic() < deadline, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.2)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it as an administrator (SIGTERM) or a machine without memory (SIGKILL) does."""
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(30)
        self._process = None
        pid = self.folder / "run" / "containerd" / "containerd.pid"  # its own helper
        if pid.exists():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid.read_text()), signal.SIGKILL)
            pid.unlink()

    def docker(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        command = ["docker", "--host", self.address, *words]
        return subprocess.run(command, capture_output=True, text=True, check=check, timeout=300)

    def containers(self) -> list[str]:
        return self.docker("ps", "--all", "--quiet").stdout.split()

    def make_image(self, wheels: Path) -> None:
        """The worker's image without torch, on the base that the first engine has."""
        saved = subprocess.Popen(["docker", "save", BASE], stdout=subprocess.PIPE)
        loaded = ["docker", "--host", self.address, "load"]
        subprocess.run(loaded, stdin=saved.stdout, check=True, capture_output=True)
        assert saved.wait() == 0
        wanted = [name for name in image.requirements() if name.startswith("msgspec")]
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*fetch, "--dest", str(wheels), *wanted], check=True, capture_output=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DOCKER_HOST", self.address)
            image.build(BASE, str(wheels), tell=lambda line: None)


@contextlib.contextmanager
def engine_in(folder: Path, wheels: Path) -> Iterator[Engine]:
    """A running engine that has the worker's image; nothing of it is left afterwards."""
    second = Engine(folder)
    try:
        second.start()
        second.make_image(wheels)
        yield second
    finally:
        with contextlib.suppress(AssertionError):
            second.stop()
        # An engine mounts its folder over itself, and leaves it so when it is killed.
        subprocess.run(["umount", "--recursive", "--lazy", str(folder / "data")], check=False)
        shutil.rmtree(folder / "data", ignore_errors=True)
