"""The Docker engine: reaching it, what its refusals mean, and what dead judges left behind."""

from __future__ import annotations

import hashlib
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness import __version__
from harness.border.messages import PROTOCOL
from harness.sandbox import judges
from harness.sandbox.base import CannotStart

IMAGE = f"harness-worker:{__version__}"
BUILD = "harness image build"
RUN_LABEL = "harness.run"
JUDGE_LABEL = "harness.judge"
PROTOCOL_LABEL = "harness.protocol"
WORKER_LABEL = "harness.worker"
HERE = Path(__file__).resolve().parents[1]
WORKER_FILES = ("__init__.py", "border", "worker")  # all of the harness that an image holds
ANSWER_LIMIT_S = 20.0
REMOVAL_LIMIT_S = 20.0
BETWEEN_REMOVALS_S = 0.1

_REMEDIES = (
    (r"could not select device driver|nvidia", "sudo apt-get install nvidia-container-toolkit"),
    (r"(unknown|invalid|no such).*runtime", "docker info --format '{{.Runtimes}}'"),
    (r"no space left|disk quota", "docker system prune"),
    (r"no such image|not found", BUILD),
)


def connect(version: str = "auto") -> Any:
    """A low-level client of its own connection; raise `CannotStart` with what helps."""
    try:
        import docker
    except ImportError:
        raise CannotStart(
            "the docker package is missing", "pip install 'harness[docker]'"
        ) from None
    settings = docker.utils.kwargs_from_env()
    where = settings.get("base_url", "unix:///var/run/docker.sock")
    try:
        return docker.APIClient(**settings, version=version, timeout=ANSWER_LIMIT_S)
    except docker.errors.DockerException as error:
        if "Permission denied" in str(error):
            raise CannotStart(
                f"this user may not use the Docker engine at {where}",
                "sudo usermod -aG docker $USER",
            ) from None
        raise CannotStart(
            f"no Docker engine answers at {where}", "sudo systemctl start docker"
        ) from None


@contextmanager
def refusals() -> Iterator[None]:
    """Turn what the engine refuses into `CannotStart`, with the one command that helps."""
    import docker
    import requests

    try:
        yield
    except docker.errors.DockerException as error:
        words = str(getattr(error, "explanation", None) or error)
        remedies = [remedy for pattern, remedy in _REMEDIES if re.search(pattern, words.lower())]
        raise CannotStart(
            f"the engine refused: {words}", (remedies or ["harness doctor"])[0]
        ) from None
    except requests.RequestException as error:
        raise CannotStart(f"the engine did not answer: {error}", "harness doctor") from None


def usable_image(client: Any, name: str) -> str:
    """The image's digest; raise `CannotStart` when it is missing or holds another worker."""
    import docker

    with refusals():
        try:
            found = client.inspect_image(name)
        except docker.errors.ImageNotFound:
            raise CannotStart(f"there is no image {name}", BUILD) from None
    said = found["Config"].get("Labels") or {}
    spoken = said.get(PROTOCOL_LABEL, "none")
    if spoken != str(PROTOCOL):
        raise CannotStart(
            f"the image {name} speaks protocol {spoken}, this harness {PROTOCOL}", BUILD
        )
    if said.get(WORKER_LABEL) != worker_digest():
        raise CannotStart(f"the image {name} holds another worker than this harness", BUILD)
    return str(found["Id"])


def worker_digest() -> str:
    """A digest of the worker's source here."""
    digest = hashlib.sha256()
    for path in sorted(file for name in WORKER_FILES for file in _sources(HERE / name)):
        digest.update(f"{path.relative_to(HERE)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _sources(path: Path) -> list[Path]:
    return list(path.rglob("*.py")) if path.is_dir() else [path]


def remove(client: Any, container: str) -> str:
    """Kill and remove a container, again until it is gone; what went wrong, or nothing."""
    import docker
    import requests

    deadline = time.monotonic() + REMOVAL_LIMIT_S
    while True:
        try:
            client.remove_container(container, v=True, force=True)
            return ""
        except docker.errors.NotFound:
            return ""
        except requests.RequestException as error:
            return f"the engine did not answer: {error}"
        except docker.errors.APIError as error:  # another removal of it is in progress
            if time.monotonic() > deadline:
                return f"the engine does not remove it: {error.explanation}"
        time.sleep(BETWEEN_REMOVALS_S)


def labels(run: str) -> dict[str, str]:
    """What a container is marked with, so that it is found when its judge is gone."""
    return {RUN_LABEL: run, JUDGE_LABEL: " ".join([socket.gethostname(), *judges.mark()])}


def sweep(client: Any) -> int:
    """Remove what judges of this machine that no longer live left behind; how many there were."""
    with refusals():
        found = client.containers(all=True, filters={"label": JUDGE_LABEL})
    left = [one["Id"] for one in found if _is_orphan(one["Labels"][JUDGE_LABEL])]
    for container in left:
        remove(client, container)
    return len(left)


def _is_orphan(judge: str) -> bool:
    """Whether its judge ran on this machine and is gone."""
    machine, *mark = judge.rsplit(" ", 3)
    return machine == socket.gethostname() and judges.is_gone(*mark)
