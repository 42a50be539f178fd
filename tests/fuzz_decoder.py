"""The long form of tests/border/test_hostile_frames.py: `python -m tests.fuzz_decoder [FRAMES]`.

Every frame is made from its number, so `python -m tests.fuzz_decoder 1 --from N` plays one again.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections import Counter

import torch

from harness.remote.faults import CandidateFault
from tests.border.hostile import Judged

MIB = 1024 * 1024


def main() -> None:
    """Ask the judge's decoder a million questions and print what it made of the answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("frames", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--from", dest="first", type=int, default=0)
    asked = parser.parse_args()
    torch.zeros(1)  # the first use of it takes a second
    judged = Judged(preload=("torch",))
    judged_as: Counter[str] = Counter()
    slowest, slowest_seed, started = 0.0, -1, time.monotonic()
    for seed in range(asked.first, asked.first + asked.frames):
        before = time.thread_time()
        judged_as[outcome(judged, seed)] += 1
        spent = time.thread_time() - before
        if spent > slowest:
            slowest, slowest_seed = spent, seed
        if sys.stderr.isatty() and seed % 10_000 == 0:
            print(f"{seed:,}", end="\r", file=sys.stderr)
    judged.close()
    for kind, count in judged_as.most_common():
        print(f"  {count:>9,}  {kind}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{asked.frames:,} frames in {time.monotonic() - started:.0f} s; "
        f"the slowest took {slowest * 1e3:.1f} ms of CPU (number {slowest_seed}); "
        f"peak {peak} MiB resident, torch included"
    )


def outcome(judged: Judged, seed: int) -> str:
    """The fault's name, or "an answer". Anything else the judge raises ends the script."""
    try:
        judged.ask(seed)
    except CandidateFault as error:
        return error.fault.kind.value
    except BaseException:
        print(f"frame {seed}:", file=sys.stderr)
        raise
    return "an answer"


if __name__ == "__main__":
    main()
