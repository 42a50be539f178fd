"""Building the worker's image: wheels fetched here, nothing fetched while it is built."""

from __future__ import annotations

import contextlib
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import IO, Any

from harness import __version__
from harness.border.messages import PROTOCOL
from harness.sandbox import engine
from harness.sandbox.base import CannotStart

BASE = "python:3.11-slim"
MODULES = ("msgspec", "numpy", "pytest", "hypothesis", "torch", "triton")
BUILD_LIMIT_S = 1800
LINUX_WHEELS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")


def build(
    base: str = BASE,
    wheels: str | None = None,
    tag: str = engine.IMAGE,
    *,
    gpu: bool = False,
    tell: Callable[[str], None] | None = None,
) -> str:
    """Build the image on `base` and give its tag; raise `CannotStart` saying why not.

    `wheels` is a folder to take the modules from; without it they are fetched with pip, as here.
    A GPU image needs a base with a C compiler and Python's headers, for Triton.
    """
    tell = tell or _to_stderr
    client = engine.connect()
    with contextlib.closing(client), tempfile.TemporaryDirectory() as fetched:
        _have_base(client, base, tell)
        if wheels is None:
            tell(f"fetching {', '.join(MODULES)}")
            _fetch(Path(fetched), _python_of(client, base))
        with _context(Path(wheels or fetched)) as context:
            tell(f"building {tag} on {base}")
            earlier = _digest(client, tag)
            _build(client, context, base, tag, gpu, tell)
        if earlier not in ("", _digest(client, tag)):
            _forget(client, earlier)
    return tag


def requirements() -> list[str]:
    """The worker's modules, in the versions that the judge has where it has them."""
    return [_requirement(name) for name in MODULES]


def _requirement(name: str) -> str:
    with contextlib.suppress(metadata.PackageNotFoundError):
        return f"{name}=={metadata.version(name).partition('+')[0]}"
    with contextlib.suppress(metadata.PackageNotFoundError):
        for line in metadata.requires("harness") or []:
            if re.match(rf"{name}\b", line):
                return line.partition(";")[0].strip()
    return name


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _have_base(client: Any, base: str, tell: Callable[[str], None]) -> None:
    import docker

    with engine.refusals():
        try:
            client.inspect_image(base)
        except docker.errors.ImageNotFound:
            tell(f"fetching {base}")
            try:
                client.pull(base)
            except docker.errors.APIError as error:
                reason = f"the base image {base} is not here and cannot be fetched: "
                raise CannotStart(f"{reason}{error.explanation}", f"docker pull {base}") from None


def _digest(client: Any, tag: str) -> str:
    import docker

    with engine.refusals(), contextlib.suppress(docker.errors.ImageNotFound):
        return str(client.inspect_image(tag)["Id"])
    return ""


def _forget(client: Any, digest: str) -> None:
    """Remove the image that had the tag before; one in use stays, a large one takes its time."""
    import docker
    import requests

    with contextlib.suppress(docker.errors.APIError, requests.RequestException):
        client.remove_image(digest)


def _python_of(client: Any, base: str) -> tuple[str, str]:
    """The base's Python, as "3.11", and its machine."""
    program = "import platform as p; print(p.python_version(), p.machine())"
    with engine.refusals():
        made = client.create_container(
            base, entrypoint=["python3", "-c", program], command=[], network_disabled=True
        )
        try:
            client.start(made["Id"])
            failed = client.wait(made["Id"])["StatusCode"]
            said = client.logs(made["Id"], stderr=False).decode().split()
        finally:
            engine.remove(client, made["Id"])
    if failed or len(said) != 2:
        raise CannotStart(f"the base image {base} has no python3", "harness image build --base")
    return said[0].rpartition(".")[0], said[1]


def _fetch(folder: Path, python: tuple[str, str]) -> None:
    """Fetch wheels for the base's Python, with pip as it is set up here."""
    version, machine = python
    command = [sys.executable, "-m", "pip", "download", "--dest", str(folder), *requirements()]
    here = (f"{sys.version_info.major}.{sys.version_info.minor}", platform.machine(), sys.platform)
    if here != (version, machine, "linux"):
        command += ["--only-binary=:all:", "--python-version", version]
        command += [f"--platform={kind}_{machine}" for kind in LINUX_WHEELS]
    if subprocess.run(command, stdout=sys.stderr.fileno(), check=False).returncode:
        raise CannotStart(
            "pip could not fetch the worker's modules", "harness image build --wheels DIR"
        )


@contextlib.contextmanager
def _context(wheels: Path) -> Iterator[IO[bytes]]:
    """What the image is built from, and nothing else: wheels, the worker's files, the recipe."""
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            tar.add(_dockerfile(), "Dockerfile")
            for wheel in sorted(wheels.glob("*.whl")):
                tar.add(wheel, f"wheels/{wheel.name}")
            for name in engine.WORKER_FILES:
                tar.add(engine.HERE / name, f"harness/{name}", filter=_as_source)
        file.seek(0)
        yield file


def _as_source(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """The same bytes for the same source: whose file it was, and when, is left out."""
    if "__pycache__" in member.name:
        return None
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def _dockerfile() -> Path:
    shipped = engine.HERE / "pack" / "Dockerfile"
    return shipped if shipped.is_file() else engine.HERE.parent / "Dockerfile"


def _build(
    client: Any, context: IO[bytes], base: str, tag: str, gpu: bool, tell: Callable[[str], None]
) -> None:
    arguments = {
        "BASE": base,
        "PROTOCOL": str(PROTOCOL),
        "VERSION": __version__,
        "WORKER": engine.worker_digest(),
        "COMPILER": "wanted" if gpu else "",
    }
    with engine.refusals():
        lines = client.build(
            fileobj=context,
            custom_context=True,
            tag=tag,
            rm=True,
            forcerm=True,
            decode=True,
            network_mode="none",
            buildargs=arguments,
            timeout=BUILD_LIMIT_S,
        )
        for line in lines:
            if "error" in line:
                raise CannotStart(f"the build failed: {line['error'].strip()}", "harness doctor")
            said = line.get("stream", "").strip()
            if said:
                tell(f"  {said}")
