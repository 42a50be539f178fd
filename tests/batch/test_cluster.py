"""A round on a real cluster of two nodes on this machine: one is lost in the middle, then the head.

On a loaded machine everything takes its time: these tests wait for what they see happen.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import msgspec
import pytest
from ray._private.node import Node
from ray.cluster_utils import Cluster

from harness.batch.entries import Entry
from harness.batch.node import Keeper, KeeperLost
from harness.batch.orders import NotHere, Order, job_of, order_of
from harness.batch.run import Job
from harness.batch.store import Round, Stored
from harness.problems import find_problem
from harness.sandbox.local import LocalSandbox
from tests.commands.running import PACK, RIGHT, harness, said

MIB = 1024 * 1024
NODE = {"num_cpus": 1, "memory": 8192 * MIB, "object_store_memory": 80 * MIB}
WAITS = "import os, time\nwhile not os.path.exists({!r}):\n    time.sleep(0.05)\n"
SUBMISSIONS = {  # the first two, one a node, wait for a word
    "ada": WAITS + RIGHT,
    "bob": WAITS + RIGHT.replace("+= ", "-= "),
    "eve": "import os\nos._exit(3)\n",
    "kim": "def (",
    "lee": RIGHT + "# another\n",
    "mia": "while True:\n    print('x' * 10000)\n",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A head with one core and a door for clients; a test adds nodes to it."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S"] = "110"  # a busy machine starts slowly
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"  # or the door's forks die now and then
    doors = {"include_dashboard": False, "ray_client_server_port": free_port()}
    made = Cluster(initialize_head=True, head_node_args=NODE | doors)
    yield made
    made.shutdown()


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def hand_in(folder: Path, submissions: dict[str, str]) -> None:
    (folder / "in").mkdir()
    for name, source in submissions.items():
        (folder / "in" / f"{name}__tally.py").write_text(source)


def started(cluster: Cluster, folder: Path, *more: str, **environment: str) -> Popen[str]:
    """A round on the cluster, running."""
    command = [sys.executable, "-m", "harness", "--pack", str(PACK), "grade", "in", "--out", "far"]
    command += ["--seed", "5", "--backend", "local", "--executor", "ray", *more]
    return Popen(
        command, cwd=folder, env=os.environ | {"RAY_ADDRESS": cluster.address} | environment,
        stdout=PIPE, stderr=PIPE, text=True,
    )  # fmt: skip


def graded(folder: Path, out: str, *more: str, **how: Any) -> tuple[int, str, str]:
    seed = ("--seed", "5", "--backend", "local")
    return harness("grade", "in", "--out", out, *seed, *more, folder=folder, **how)


def documents(results: Path) -> dict[str, Any]:
    """Every result without its times."""
    found = {}
    for path in results.glob("*.json"):
        document = json.loads(path.read_bytes())
        for name in ("started", "seconds"):
            del document["result"]["run"][name]
        for check in document["result"]["checks"]:
            check.pop("seconds", None)
        found[path.name] = document
    return found


def processes() -> dict[int, tuple[int, str]]:
    """Every process now: its parent and its command."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            found[int(entry.name)] = parent, (entry / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    return found


def below(leader: int, now: dict[int, tuple[int, str]]) -> dict[int, str]:
    """Those that descend from one, with their commands."""
    found = {}
    for pid in now:
        above = now[pid][0]
        while above in now and above != leader:
            above = now[above][0]
        if above == leader:
            found[pid] = now[pid][1]
    return found


def until(holds: Callable[[], Any]) -> Any:
    """Wait for what holds, and give it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if said := holds():
            return said
        time.sleep(0.05)
    raise AssertionError(f"it did not come to {holds.__doc__}")


def at_work(node: Node) -> dict[int, str]:
    """The processes on a node, once a candidate's file is in a sandbox there."""
    found = below(node.all_processes["raylet"][0].process.pid, processes())
    return found if any("harness.worker" in command for command in found.values()) else {}


def keepers(node: Node) -> list[int]:
    return [pid for pid, command in at_work(node).items() if "harness.batch.keeper" in command]


def test_a_node_that_is_lost_takes_no_result_with_it(cluster: Cluster, tmp_path: Path) -> None:
    second = cluster.add_node(**NODE)
    word = str(tmp_path / "word")
    hand_in(tmp_path, {name: source.format(word) for name, source in SUBMISSIONS.items()})
    running = started(cluster, tmp_path)

    def both() -> bool:
        """a file of a candidate's on each node, at the same time"""
        return bool(at_work(cluster.head_node) and at_work(second))

    until(both)
    lost, now = at_work(second), processes()
    workers = {pid for pid, command in lost.items() if "harness.worker" in command}
    assert workers <= {pid for keeper in keepers(second) for pid in below(keeper, now)}
    os.kill(min(keepers(cluster.head_node)), signal.SIGKILL)
    cluster.remove_node(second, allow_graceful=False)
    Path(word).touch()
    shown, errors = running.communicate(timeout=120)
    assert running.returncode == 0, errors
    assert "6 of 6 graded. Seed 5." in shown
    assert graded(tmp_path, "near")[0] == 0
    assert documents(tmp_path / "far/results") == documents(tmp_path / "near/results")
    assert len(documents(tmp_path / "far/results")) == 6

    def gone() -> bool:
        """an end of all that ran on the lost node"""
        return not [pid for pid in lost if Path(f"/proc/{pid}").exists()]

    until(gone)


def test_a_client_from_outside_goes_on_where_a_round_was(cluster: Cluster, tmp_path: Path) -> None:
    hand_in(tmp_path, {"ada": RIGHT})
    assert graded(tmp_path, "out")[0] == 0
    before = (tmp_path / "out/results/ada__tally.json").read_bytes()
    (tmp_path / "in" / "bob__tally.py").write_text(RIGHT)
    door = cluster.head_node._ray_params.ray_client_server_port
    code, shown, errors = graded(tmp_path, "out", "--executor", f"ray://127.0.0.1:{door}")
    assert (code, "2 of 2 graded. Seed 5." in shown) == (0, True), errors
    assert (tmp_path / "out/results/ada__tally.json").read_bytes() == before
    assert (
        documents(tmp_path / "out/results")["bob__tally.json"]["result"]["level"] == "Strong hire"
    )


def test_a_round_that_waits_for_a_machine_says_for_which(cluster: Cluster, tmp_path: Path) -> None:
    hand_in(tmp_path, {"ada": RIGHT})
    running = started(cluster, tmp_path, "--device", "cuda")
    assert running.stderr is not None
    lines = iter(running.stderr.readline, "")
    waits = "no node has a core, 2 GiB of memory and a GPU for a task: waiting for one\n"
    assert any(line.endswith(waits) for line in lines)
    running.send_signal(signal.SIGTERM)
    _, errors = running.communicate(timeout=60)
    assert (running.returncode, errors.splitlines()[-1]) == (3, "stopped by hand: not graded")


def test_a_cluster_that_is_lost_takes_no_result_with_it(cluster: Cluster, tmp_path: Path) -> None:
    """The last test on this cluster: nothing is left of it."""
    hand_in(tmp_path, {"ada": RIGHT, "bob": WAITS.format(str(tmp_path / "word")) + RIGHT})
    running = started(cluster, tmp_path, "--jobs", "1", RAY_gcs_rpc_server_reconnect_timeout_s="5")
    kept = tmp_path / "far/results/ada__tally.json"

    def one_is_home() -> bool:
        """a result"""
        return kept.exists()

    until(one_is_home)
    for processes_of_a_kind in cluster.head_node.all_processes.values():
        for one in processes_of_a_kind:
            os.kill(one.process.pid, signal.SIGKILL)
    shown, errors = running.communicate(timeout=120)
    assert running.returncode == 3, errors
    assert "not graded: bob, tally: the cluster " in shown
    assert shown.splitlines()[-2:] == [
        "1 of 2 graded. Seed 5.",
        "Next: run the same command again: what is graded is kept",
    ]
    before = kept.read_bytes()
    (tmp_path / "word").touch()
    assert graded(tmp_path, "far")[0] == 0
    assert kept.read_bytes() == before
    assert [one["result"]["level"] for one in documents(kept.parent).values()] == [
        "Strong hire",
        "Strong hire",
    ]


def order() -> Order:
    problem = find_problem(PACK, "tally")
    entry = Entry("ada", "tally", "ada.py", RIGHT.encode())
    settings = Round(5, "quick", "local", "cpu")
    return order_of(Job(entry, problem, settings, LocalSandbox(), None))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"harness": "of yesterday"}, "the node has another harness"),
        ({"suite": "of yesterday"}, "the node has another suite of tally"),
        ({"key": "of yesterday"}, "the node has another image"),
        ({"slug": "chess"}, "the node has another pack: no problem called 'chess'"),
        ({"pack": "/nowhere"}, "the node has another pack: no problems in /nowhere"),
    ],
)
def test_a_node_that_would_grade_otherwise_does_not(changed: dict[str, str], why: str) -> None:
    with pytest.raises(NotHere, match=f"^{why}$"):
        job_of(msgspec.structs.replace(order(), **changed), "")


def test_a_keeper_answers_with_a_result_or_a_sentence_or_is_missed() -> None:
    keeper = Keeper("")
    other = msgspec.structs.replace(order(), harness="of yesterday")
    assert answer(keeper, other) == "the node has another harness"
    graded = answer(keeper, order())
    assert (graded.candidate, graded.result.level) == ("ada", "Strong hire")
    os.kill(keeper.pid, signal.SIGKILL)
    with pytest.raises(KeeperLost, match=r"^the judge's keeper was ended \(-9\)$"):
        answer(keeper, order())


def answer(keeper: Keeper, order: Order) -> Any:
    said = keeper.ask(msgspec.msgpack.encode(order))
    return msgspec.msgpack.decode(said, type=Stored | str)


@pytest.mark.parametrize(
    ("executor", "named", "words"),
    [
        ("slurm", "", "no executor called 'slurm'\n  local, ray or ray://HOST:PORT"),
        ("ray://127.0.0.1:1", "", "no cluster at ray://127.0.0.1:1: "),
        ("ray://nobody", "", "no cluster at ray://nobody: "),
        ("ray", "127.0.0.1:1", "no cluster at 127.0.0.1:1: "),
    ],
)
def test_a_cluster_that_is_not_there_is_named(
    tmp_path: Path, executor: str, named: str, words: str
) -> None:
    hand_in(tmp_path, {"ada": RIGHT})
    environment = {"RAY_ADDRESS": named}
    code, _, errors = graded(tmp_path, "out", "--executor", executor, environment=environment)
    assert code == 2
    assert said(errors).startswith(words)
