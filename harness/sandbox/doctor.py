"""What this machine can run, and what it cannot assess: one line a fact, with what helps."""

from __future__ import annotations

import contextlib
from importlib import metadata, util
from pathlib import Path
from typing import Any

from harness.sandbox import engine
from harness.sandbox.base import CannotStart

TOOLKIT = "sudo apt-get install nvidia-container-toolkit"
GPU_DEVICE = Path("/dev/nvidiactl")

Fact = tuple[str, bool, str, str]  # name, whether it is fine, words, remedy


def doctor_facts() -> list[Fact]:
    """Every fact, the most needed first."""
    return [_local(), *_docker(), _module("torch"), _module("triton"), _gpu()]


def _local() -> Fact:
    from harness.sandbox.local import LocalSandbox

    return "local worker", True, LocalSandbox().describe(), ""


def _docker() -> list[Fact]:
    try:
        client = engine.connect()
        with contextlib.closing(client), engine.refusals():
            version, runtimes = client.version(), client.info().get("Runtimes") or {}
            image = _image(client)
    except CannotStart as error:
        return [("docker engine", False, error.reason, error.remedy)]
    words = f"answers, version {version['Version']}, API {version['ApiVersion']}"
    return [("docker engine", True, words, ""), image, _gpu_runtime(runtimes)]


def _image(client: Any) -> Fact:
    try:
        engine.usable_image(client, engine.IMAGE)
    except CannotStart as error:
        return "worker image", False, error.reason, error.remedy
    return "worker image", True, f"{engine.IMAGE} speaks this harness's protocol", ""


def _gpu_runtime(runtimes: dict[str, Any]) -> Fact:
    if "nvidia" in runtimes:
        return "GPU in docker", True, "the engine has a GPU runtime", ""
    remedy = TOOLKIT if GPU_DEVICE.exists() else ""
    return "GPU in docker", False, "the engine has no GPU runtime", remedy


def _module(name: str) -> Fact:
    if util.find_spec(name) is None:
        words = f"not installed; problems that need {name} cannot be assessed"
        return name, False, words, f"pip install 'harness[{name}]'"
    return name, True, f"version {metadata.version(name)}", ""


def _gpu() -> Fact:
    if util.find_spec("torch") is None:
        return "GPU", False, "not looked for: torch is not installed", ""
    import torch

    if torch.cuda.is_available():
        return "GPU", True, torch.cuda.get_device_name(0), ""
    return "GPU", False, "none; kernels are assessed on the CPU, their speed is not", ""
