"""What a round costs: plain pytest, `docker run` with pytest inside, ours local, ours in Docker.

The same submissions, seed, budget and number at a time for each of the four, one after the other:
`python -m bench.batch [--paged 100] [--attention 20]`. Verdicts are compared check by check.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.in_process import ROOT, plain_pytest
from harness.authoring.wrong import read_wrong
from harness.problems import Problem, default_pack, find_problem

SEED = 2026
LIMIT_S = 300
FAILED = re.compile(r"^FAILED \S+::test_(\w+)", re.MULTILINE)
Broken = dict[str, frozenset[str]]  # by submission: the checks that broke


@dataclass(frozen=True, slots=True)
class Way:
    """One way to grade the round, and what came of it."""

    name: str
    seconds: float
    memory_mib: int  # what the whole machine used at most, above what it used before
    broken: Broken


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paged", type=int, default=100)
    parser.add_argument("--attention", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--base", default="harness-base", help="an image with this Python")
    parser.add_argument("--without", default="", help="letters of ways to leave out, as bd")
    asked = parser.parse_args()
    for slug, count in (("paged_allocator", asked.paged), ("gqa_attention_cache", asked.attention)):
        with tempfile.TemporaryDirectory() as folder:
            files = submissions(find_problem(default_pack(), slug), count, Path(folder))
            ways = [
                way for letter, way in ways_to_grade(slug, files, asked).items()
                if letter not in asked.without
            ]  # fmt: skip
            report(slug, count, [measured(*way) for way in ways])


def submissions(problem: Problem, count: int, folder: Path) -> list[Path]:
    """Right and wrong answers in turn, `count` of them, in a folder `in`."""
    reference = problem.reference.read_text()
    right = [reference, *(path.read_text() for path in problem.right)]
    wrong = [each.source(reference) for each in read_wrong(problem)]
    mixed = itertools.chain.from_iterable(zip(itertools.cycle(right), itertools.cycle(wrong)))
    (folder / "in").mkdir()
    files = []
    for number, source in enumerate(itertools.islice(mixed, count)):
        files.append(folder / "in" / f"c{number:03}__{problem.slug}.py")
        files[-1].write_text(f"{source}\n# {number}\n")  # no two alike: nothing comes from a cache
    return files


def ways_to_grade(
    slug: str, files: list[Path], asked: argparse.Namespace
) -> dict[str, tuple[str, Callable[[], Broken]]]:
    """The four, by letter."""

    def each(by_file: Callable[[Path], list[str]]) -> Callable[[], Broken]:
        def run() -> Broken:
            with ThreadPoolExecutor(asked.jobs) as pool:
                found = pool.map(lambda file: by_pytest(by_file(file)), files)
                return dict(zip([file.stem for file in files], found, strict=True))

        return run

    def ours(backend: str) -> Callable[[], Broken]:
        return lambda: by_harness(files[0].parent, backend, asked.jobs)

    return {
        "a": ("plain pytest, a process each", each(lambda file: plain_pytest(slug, str(file)))),
        "b": ("docker run, pytest inside", each(lambda f: docker_on(slug, f, asked.base))),
        "c": ("harness grade, local", ours("local")),
        "d": ("harness grade, Docker", ours("docker")),
    }


def docker_on(slug: str, file: Path, base: str) -> list[str]:
    """As most graders do: a container a submission, the tests and their libraries mounted."""
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    mounts = [f"--volume={path}:{path}:ro" for path in [str(ROOT), str(file.parent), *libraries]]
    return [
        "docker", "run", "--rm", "--network=none", "--memory=4g", *mounts,
        f"--env=PYTHONPATH={':'.join([str(ROOT), *libraries])}", "--env=OMP_NUM_THREADS=1",
        "--workdir", str(ROOT), base, *plain_pytest(slug, str(file), "python3"),
    ]  # fmt: skip


def by_pytest(command: list[str]) -> frozenset[str]:
    """Run one; the checks that it says broke."""
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    if done.returncode not in (0, 1) or "ERROR " in done.stdout:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}")
    return frozenset(name.replace("_", "-") for name in FAILED.findall(done.stdout))


def by_harness(folder: Path, backend: str, jobs: int) -> Broken:
    """Run one round; the checks that its results say broke."""
    out = folder.parent / backend
    command = [sys.executable, "-m", "harness", "grade", str(folder), "--out", str(out)]
    command += ["--backend", backend, "--seed", str(SEED), "--jobs", str(jobs)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}")
    results = [json.loads(path.read_text()) for path in (out / "results").glob("*.json")]
    return {
        f"{stored['candidate']}__{stored['result']['problem']['slug']}": frozenset(
            check["id"] for check in stored["result"]["checks"] if check["status"] == "broke"
        )
        for stored in results
    }


def measured(name: str, grade: Callable[[], Broken]) -> Way:
    """Grade and take the time."""
    print(f"  {name} ...", file=sys.stderr, flush=True)
    with memory_watched() as most:
        started = time.perf_counter()
        broken = grade()
        seconds = time.perf_counter() - started
    return Way(name, seconds, most[0] // 1024, broken)


@contextmanager
def memory_watched() -> Iterator[list[int]]:
    """The most KiB that the machine used above what it used at the start, in a list of one."""
    before, most, done = available(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            most[0] = max(most[0], before - available())

    watching = threading.Thread(target=watch)
    watching.start()
    yield most
    done.set()
    watching.join()


def available() -> int:
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return int(lines["MemAvailable"].split()[0])


def report(slug: str, count: int, ways: list[Way]) -> None:
    """One line a way: time, what a submission costs, memory, and where its verdicts differ."""
    print(f"{count} submissions of {slug}")
    for way in ways:
        other = [name for name in way.broken if way.broken[name] != ways[0].broken.get(name)]
        print(
            f"  {way.name:30} {way.seconds:7.1f} s  {way.seconds / count:6.2f} s each  "
            f"{way.memory_mib:6,} MiB  {len(other)} judged otherwise than by the first"
        )
        for name in other[:3]:
            apart = way.broken[name] ^ ways[0].broken.get(name, frozenset())
            print(f"      {name}: {', '.join(sorted(apart))}")


if __name__ == "__main__":
    main()
