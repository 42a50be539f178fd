"""What a worker's container is asked for, and which of it an engine ignored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.sandbox.base import MIB, Spec, worker_environment

ENGINE_API = "1.41"  # the oldest with all of this
NOBODY = 65534
LIFE_LIMIT_S = 3600  # ends a container whose judge is gone and whose worker spins
TMPFS_BYTES = 128 * MIB
SHM_BYTES = 64 * MIB
PARENT_BYTES = 64 * MIB
MODULE_BYTES = {"numpy": 64 * MIB, "torch": 256 * MIB, "triton": 128 * MIB}
CUDA_BYTES = 4096 * MIB  # host memory of a context and its libraries
OWN_PROCESSES = 4
SECCOMP = Path(__file__).with_name("seccomp.json")
MAIN = (
    "import sys; sys.path.insert(0, '/opt/harness'); from harness.worker.parent import main; main()"
)


def arguments(
    spec: Spec, *, runtime: str | None, cpuset: str | None, gpu: str | None
) -> dict[str, Any]:
    """Everything of a container but its image, name and labels.

    `timeout` is its first process and not Docker's init: in the image it cannot be read, so the
    kernel keeps the candidate away from the streams it holds. The candidate is never process 1.
    """
    return {
        "entrypoint": ["/opt/timeout", "-s", "KILL", str(LIFE_LIMIT_S)],
        "command": ["python3", "-I", "-u", "-c", MAIN],
        "hostname": "worker",
        "stdin_open": True,  # without `detach`, so that it ends when the judge's end closes
        "user": f"{NOBODY}:{NOBODY}",
        "working_dir": "/tmp",
        "environment": worker_environment(spec),
        "use_config_proxy": False,
        "network_disabled": True,
        "stop_signal": "SIGKILL",
        "healthcheck": {"test": ["NONE"]},
        "host_config": _host_config(spec, runtime, cpuset, gpu),
    }


def _host_config(spec: Spec, runtime: str | None, cpuset: str | None, gpu: str | None) -> Any:
    from docker.types import DeviceRequest, HostConfig, LogConfig, Ulimit

    executable = "exec" if "triton" in spec.preload else "noexec"
    memory = container_memory(spec)
    limits = {"core": 0, "nofile": 1024, "memlock": 65536}
    devices = []
    if gpu is not None:
        which = {"count": -1} if gpu == "all" else {"device_ids": [gpu]}
        devices = [DeviceRequest(**which, capabilities=[["gpu", "compute", "utility"]])]
    return HostConfig(
        version=ENGINE_API,
        network_mode="none",
        ipc_mode="private",
        shm_size=SHM_BYTES,
        cgroupns="private",
        read_only=True,
        tmpfs={
            "/tmp": f"rw,nosuid,nodev,{executable},size={TMPFS_BYTES},nr_inodes=16384,mode=1777"
        },
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true", f"seccomp={SECCOMP.read_text()}"],
        pids_limit=max(spec.processes, 4 * spec.threads + 32) + OWN_PROCESSES,
        mem_limit=memory,
        memswap_limit=memory,
        cpuset_cpus=cpuset,
        oom_score_adj=500,
        ulimits=[Ulimit(name=name, soft=at, hard=at) for name, at in limits.items()],
        log_config=LogConfig(type=LogConfig.types.NONE),
        restart_policy={"Name": "no"},
        runtime=runtime,
        device_requests=devices,
    )


def expected_facts(runtime: str | None) -> dict[str, str]:
    """What the parent has to say of itself; another runtime has a kernel with words of its own."""
    facts = {"uid": str(NOBODY), "interfaces": "lo"}
    if runtime is None:
        facts |= {"CapEff": "0" * 16, "NoNewPrivs": "1", "Seccomp": "2"}
    return facts


def container_memory(spec: Spec) -> int:
    """What the candidate may use, and room for what is there before it: modules, files."""
    modules = sum(MODULE_BYTES.get(name, 0) for name in spec.preload)
    cuda = CUDA_BYTES if spec.device == "cuda" else 0
    return spec.memory_bytes + PARENT_BYTES + modules + cuda + TMPFS_BYTES + SHM_BYTES


def ignored(asked: dict[str, Any], applied: dict[str, Any]) -> list[str]:
    """The settings an engine left out or changed, in words."""
    return [
        f"{name} is {applied.get(name)!r:.80}, wanted {wanted!r:.80}"
        for name, wanted in asked.items()
        if not _holds(wanted, applied.get(name))
    ]


def _holds(wanted: Any, applied: Any) -> bool:
    """Whether a setting is as asked; an engine adds defaults, and writes "none" in its own way."""
    if wanted in (None, "", [], {}):
        return applied in (None, "", [], {})
    if isinstance(wanted, dict) and isinstance(applied, dict):
        return all(_holds(item, applied.get(key)) for key, item in wanted.items())
    if isinstance(wanted, list) and isinstance(applied, list):
        return len(wanted) == len(applied) and all(map(_holds, wanted, applied))
    return bool(wanted == applied)
