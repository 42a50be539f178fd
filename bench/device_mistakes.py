"""Write the wrong answers of a problem that a device can judge; print name and check of each.

    python -m bench.device_mistakes triton_softmax cuda FOLDER

Those whose check needs another device are left out.
"""

import sys
from pathlib import Path

from harness.authoring.claims import claims_of
from harness.authoring.wrong import read_wrong
from harness.problems import default_pack, find_problem


def main(slug: str, device: str, folder: Path) -> None:
    """One file a wrong answer."""
    problem = find_problem(default_pack(), slug)
    reference = problem.reference.read_text(encoding="utf-8")
    assessed = {claim.id for claim in claims_of(problem) if claim.device in ("", device)}
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.py"):
        path.unlink()
    for wrong in read_wrong(problem):
        if wrong.caught_by in assessed:
            (folder / f"{wrong.name}.py").write_text(wrong.source(reference), encoding="utf-8")
            print(wrong.name, wrong.caught_by)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
