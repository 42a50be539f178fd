"""SECURITY.md promises nothing without a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))


def spelled_out(name: str) -> list[str]:
    """A path with braces as the paths it stands for."""
    match = re.search(r"\{(.*)\}", name)
    if match is None:
        return [name]
    return [name.replace(match[0], part) for part in match[1].split(",")]


def test_every_file_it_names_is_there() -> None:
    named = [path for name in re.findall(r"`(tests/[^`]*)`", PAGE) for path in spelled_out(name)]
    assert len(named) > 15
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_test_it_names_is_there() -> None:
    named = re.findall(r"`(test_\w+)`", PAGE)
    assert len(named) >= 4
    assert [name for name in named if f"def {name}(" not in TESTS] == []


def test_it_counts_the_attacks_right() -> None:
    attacks = len(list((ROOT / "tests" / "hostile" / "submissions").glob("*.py")))
    assert f"({attacks} attacks)" in PAGE
