"""The Docker sandbox: what it holds and applies, what stays outside, what it says of failures."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.remote.faults import CandidateFault, Kind, OurFault
from harness.remote.session import Session
from harness.sandbox import container, engine
from harness.sandbox.base import CannotStart, Spec
from harness.sandbox.docker import DockerSandbox
from harness.suite.candidate import Candidate
from tests.sandbox.conftest import containers
from tests.sandbox.submissions import PRELUDE

SessionOf = Callable[..., Session]
ESCAPES = Path(__file__).with_name("escapes.py")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def inside() -> Iterator[Candidate]:
    """A submission that tries to get out, in a container."""
    from harness.remote.session import Submission

    submission = Submission("escapes", ESCAPES.read_bytes(), "escapes.py")
    os.environ["HARNESS_TEST_MARK"] = "kram-a-dedih"
    session = Session(DockerSandbox(), Spec(), submission)
    yield Candidate(session, call_limit_s=30)
    session.close()
    del os.environ["HARNESS_TEST_MARK"]


@pytest.fixture
def client() -> Iterator[Any]:
    with contextlib.closing(engine.connect()) as connected:
        yield connected


def container_of(session: Session) -> str:
    return str(session._running.ident)  # type: ignore[union-attr]


# what the image holds


def test_the_image_holds_the_worker_and_no_part_of_a_problem(inside: Candidate) -> None:
    own, telling = inside.files()
    parts = {Path(path).relative_to("/opt/harness/harness").parts[0] for path in own}
    assert parts == {"__init__.py", "__pycache__", "border", "worker"}
    assert telling == []
    assert inside.importable() == []


def test_nothing_of_the_judge_is_found_inside(inside: Candidate) -> None:
    assert inside.look_for("hidden-a-mark") is False


# what is applied


def test_what_is_applied_is_what_was_asked(client: Any, session_of: SessionOf) -> None:
    session = session_of(DockerSandbox(cpuset="0"), PRELUDE, threads=2, processes=20)
    assert Candidate(session).ok() == 1
    ident = container_of(session)
    applied = client.inspect_container(ident)
    host = applied["HostConfig"]
    memory = container.container_memory(session.spec)
    assert host["Memory"] == host["MemorySwap"] == memory
    assert host["PidsLimit"] == 4 * 2 + 32 + container.OWN_PROCESSES
    assert (host["CpusetCpus"], host["OomScoreAdj"]) == ("0", 500)
    assert (host["NetworkMode"], host["IpcMode"], host["CgroupnsMode"]) == (
        "none", "private", "private",
    )  # fmt: skip
    assert (host["ReadonlyRootfs"], host["Privileged"], host["CapDrop"]) == (True, False, ["ALL"])
    assert "noexec" in host["Tmpfs"]["/tmp"]
    assert host["LogConfig"]["Type"] == "none"
    assert not host["Binds"] and not applied["Mounts"]
    assert applied["Config"]["User"] == "65534:65534"
    assert session.facts["CapEff"] == "0" * 16


def test_a_limit_that_was_ignored_is_named() -> None:
    asked = {"Memory": 5, "CapDrop": ["ALL"], "LogConfig": {"Type": "none", "Config": {}}}
    as_asked = {**asked, "LogConfig": {"Type": "none", "Config": None}, "More": 1}
    assert container.ignored(asked, as_asked) == []
    assert container.ignored(asked, {**as_asked, "Memory": 0}) == ["Memory is 0, wanted 5"]
    assert container.ignored(asked, {**as_asked, "CapDrop": []}) == [
        "CapDrop is [], wanted ['ALL']"
    ]


def test_only_triton_may_run_what_it_compiled(inside: Candidate) -> None:
    assert inside.runs_own_binary() == "EACCES"
    arguments = container.arguments(Spec(preload=("triton",)), runtime=None, cpuset=None, gpu=None)
    assert ",exec," in arguments["host_config"]["Tmpfs"]["/tmp"]


# what stays outside


def test_system_calls_that_lead_out_are_refused(inside: Candidate) -> None:
    assert set(inside.system_calls().values()) == {"EPERM"}
    assert inside.new_user_namespace_by_clone() == "EPERM"


def test_no_socket_leads_out(inside: Candidate) -> None:
    assert set(inside.sockets().values()) == {"EPERM"}
    assert inside.network() == "ENETUNREACH"
    assert inside.interfaces() == ["lo"]
    assert inside.engine_sockets() == []


def test_nothing_is_written_outside_its_folder(inside: Candidate) -> None:
    assert set(inside.writes().values()) <= {"EROFS", "EACCES", "EPERM", "ENOENT"}


def test_the_parent_and_process_one_cannot_be_looked_into(inside: Candidate) -> None:
    assert set(inside.other_processes().values()) == {"EACCES"}


def test_there_is_no_way_to_more_rights(inside: Candidate) -> None:
    assert inside.privileged_files() == []
    assert inside.becomes_root() == ["EPERM", "EPERM"]
    assert inside.makes_device() == "EPERM"


def test_two_workers_do_not_see_each_other(session_of: SessionOf) -> None:
    box = DockerSandbox()
    one, two = (Candidate(session_of(box, ESCAPES.read_bytes())) for _ in range(2))
    assert one.leave_mark() is True
    assert one.see_mark() == [True, True, True]
    assert two.see_mark() == [False, False, False]
    assert one.process_count() == two.process_count() == 3


# honest programs


def test_honest_programs_have_what_they_need(session_of: SessionOf) -> None:
    source = (
        PRELUDE
        + """
import multiprocessing, subprocess, tempfile, torch
class Squares(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, at): return at * at
def square(x): return x * x
def loads():
    batches = torch.utils.data.DataLoader(Squares(), batch_size=4, num_workers=2)
    return [batch.tolist() for batch in batches]
def pools():
    with multiprocessing.Pool(2) as pool: return pool.map(square, [1, 2, 3])
def runs(): return subprocess.run([sys.executable, "-c", "print(6)"], capture_output=True).stdout
def keeps():
    with tempfile.TemporaryFile() as file: return file.write(bytes(32 << 20))
def doubles(x): return x * 2
def multiplies(): return (torch.ones(300, 300) @ torch.ones(300, 300)).sum().item()
"""
    )
    import torch

    session = session_of(DockerSandbox(), source, preload=("torch",), threads=2,
                         memory_bytes=2 << 30)  # fmt: skip
    candidate = Candidate(session, call_limit_s=30)
    assert candidate.loads() == [[0, 1, 4, 9], [16, 25, 36, 49]]
    assert candidate.pools() == [1, 4, 9]
    assert candidate.runs() == b"6\n"
    assert candidate.keeps() == 32 << 20
    assert candidate.multiplies() == 300.0**3
    big = torch.ones(16 << 20)  # 64 MiB
    assert torch.equal(candidate.doubles(big), big * 2)


# how it ends


def test_a_flood_that_nobody_reads_does_not_hold_up_the_end(
    client: Any, session_of: SessionOf
) -> None:
    source = (
        PRELUDE
        + """
def flood_soon():
    from harness.border.messages import Trace
    def flood():
        time.sleep(0.2)
        while True: send(Trace(1, []), blobs=[bytes(1 << 20)])
    threading.Thread(target=flood).start()
"""
    )
    session = session_of(DockerSandbox(), source)
    Candidate(session).flood_soon()
    ident = container_of(session)
    time.sleep(1)
    started = time.monotonic()
    session.close()
    assert ident not in [one["Id"] for one in client.containers(all=True)]
    assert time.monotonic() - started < 2


def test_a_container_ends_by_itself_when_its_time_is_over(
    session_of: SessionOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container, "LIFE_LIMIT_S", 2)
    session = session_of(DockerSandbox(), PRELUDE + "\ndef spin():\n    while True: pass\n")
    started = time.monotonic()
    with pytest.raises(CandidateFault) as caught:
        Candidate(session, call_limit_s=20).spin()
    assert caught.value.fault.kind is Kind.CRASHED
    assert time.monotonic() - started < 10


JUDGE = """
import sys, time
from harness.remote.session import Session, Submission
from harness.sandbox.base import Spec
from harness.sandbox.docker import DockerSandbox
source = b"def spin():\\n    while True: pass\\ndef ok(): return 1\\n"
session = Session(DockerSandbox(), Spec(), Submission("answer", source, "answer.py"))
from harness.suite.candidate import Candidate
candidate = Candidate(session, call_limit_s=600)
candidate.ok()
print(session._running.ident, flush=True)
if sys.argv[1] == "spin":
    candidate.spin()
time.sleep(600)
"""


def killed_judge(what: str) -> str:
    """The container of a judge that was killed while its worker did `what`."""
    judge = subprocess.Popen([sys.executable, "-c", JUDGE, what], cwd=ROOT, stdout=subprocess.PIPE)
    assert judge.stdout is not None
    ident = judge.stdout.readline().decode().strip()
    time.sleep(0.3)
    judge.send_signal(signal.SIGKILL)
    judge.wait()
    judge.stdout.close()
    return ident


def test_what_a_killed_judge_left_is_swept_and_nothing_else(
    client: Any, session_of: SessionOf
) -> None:
    mine = Candidate(session_of(DockerSandbox(), PRELUDE))
    assert mine.ok() == 1
    left = killed_judge("spin")
    assert client.inspect_container(left)["State"]["Running"]
    assert DockerSandbox().sweep() >= 1
    assert left not in [one["Id"] for one in client.containers(all=True)]
    assert mine.ok() == 1


def test_a_waiting_worker_ends_with_its_judge(client: Any) -> None:
    left = killed_judge("wait")
    deadline = time.monotonic() + 5
    while client.inspect_container(left)["State"]["Running"] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not client.inspect_container(left)["State"]["Running"]
    DockerSandbox().sweep()
    assert left not in [one["Id"] for one in client.containers(all=True)]


# what it says when it cannot


def refused(box: DockerSandbox, spec: Spec = Spec()) -> tuple[str, str]:  # noqa: B008
    with pytest.raises(CannotStart) as caught:
        box.start(spec)
    return caught.value.reason, caught.value.remedy


def test_a_missing_engine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    assert refused(DockerSandbox()) == (
        "no Docker engine answers at unix:///nowhere/docker.sock",
        "sudo systemctl start docker",
    )


def test_a_missing_image_is_named() -> None:
    assert refused(DockerSandbox("harness-nowhere:1")) == (
        "there is no image harness-nowhere:1",
        "harness image build",
    )


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ("harness.protocol=0", "speaks protocol 0, this harness 1"),
        ("harness.protocol=1", "holds another worker than this harness"),
        ("other=1", "speaks protocol none, this harness 1"),
    ],
)
def test_an_image_of_another_harness_is_named(client: Any, labels: str, said: str) -> None:
    name = "harness-test-empty:1"
    client.import_image_from_data(bytes(10240), repository="harness-test-empty", tag="1",
                                  changes=[f"LABEL {labels}"])  # fmt: skip
    try:
        assert refused(DockerSandbox(name)) == (f"the image {name} {said}", "harness image build")
    finally:
        client.remove_image(name)


def test_a_missing_gpu_is_named() -> None:
    before = containers()
    box = DockerSandbox(gpu="GPU-00000000-0000-0000-0000-000000000000")
    reason, remedy = refused(box, Spec(device="cuda"))
    assert reason.startswith("the engine refused: ")
    assert remedy == "sudo apt-get install nvidia-container-toolkit"
    assert containers() == before


def test_a_missing_runtime_is_named() -> None:
    before = containers()
    reason, remedy = refused(DockerSandbox(runtime="nothing"))
    assert "nothing" in reason
    assert remedy == "docker info --format '{{.Runtimes}}'"
    assert containers() == before


def test_an_engine_lost_in_a_call_is_nobodys_fault(
    client: Any, session_of: SessionOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay = Relay(tmp_path / "engine.sock")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{relay.path}")
    session = session_of(DockerSandbox(), PRELUDE + "\ndef wait():\n    time.sleep(60)\n")
    candidate = Candidate(session)
    assert candidate.ok() == 1
    monkeypatch.delenv("DOCKER_HOST")
    ident = container_of(session)
    threading.Timer(0.3, relay.cut).start()
    with pytest.raises(OurFault, match=r"^the sandbox's engine was lost: "):
        candidate.wait()
    engine.remove(client, ident)


def test_a_container_that_somebody_removed_is_nobodys_fault(
    client: Any, session_of: SessionOf
) -> None:
    session = session_of(DockerSandbox(), PRELUDE)
    candidate = Candidate(session)
    assert candidate.ok() == 1
    ident = container_of(session)
    engine.remove(client, ident)
    with pytest.raises(OurFault, match=r"^the sandbox's engine was lost: "):
        candidate.ok()


class Relay:
    """Passes an engine's socket on until it is cut."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open = [socket.socket(socket.AF_UNIX)]
        self._open[0].bind(str(path))
        self._open[0].listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Close everything at once, as an engine does that dies."""
        self.path.unlink()
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near = self._open[0].accept()[0]
                far = socket.socket(socket.AF_UNIX)
                far.connect("/var/run/docker.sock")
                self._open += [near, far]
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=_pass_on, args=(source, target), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(65536):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)
