"""Finding problems: a pack is a folder of them, and a file's place is its registration."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

PACK_VARIABLE = "HARNESS_PACK"
EXPECTS = ("strong_hire", "hire", "no_hire", "strong_no_hire")  # in [expects] of problem.toml
REQUIREMENT = re.compile(r"^- \*\*(R\d+)\*\* ", re.MULTILINE)


class NoSuchProblem(Exception):
    """There is no problem of that name; the message names the nearest."""


class BadPack(Exception):
    """A pack or one of its problems cannot be used; says which file and why."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a pack and where its parts lie."""

    slug: str
    title: str
    topic: str
    minutes: int
    needs: tuple[str, ...]  # modules the worker imports before it forks
    call_limit_s: float
    pack: Path
    expects: dict[str, str] = field(default_factory=dict, hash=False)  # by level

    @property
    def folder(self) -> Path:
        return self.pack / "problems" / self.slug

    @property
    def statement(self) -> Path:
        return self.folder / "statement.md"

    @property
    def stub(self) -> Path:
        return self.folder / "stub.py"

    @property
    def hints(self) -> Path:
        return self.folder / "hints.md"

    @property
    def suite(self) -> Path:
        return self.pack / "graders" / f"{self.slug}.py"

    @property
    def reference(self) -> Path:
        return self.pack / "solutions" / self.slug / "reference.py"

    @property
    def right(self) -> list[Path]:
        """Other correct answers."""
        return sorted((self.pack / "solutions" / self.slug / "right").glob("*.py"))

    @property
    def wrong(self) -> Path:
        return self.pack / "solutions" / self.slug / "wrong.toml"

    def suite_sha256(self) -> str:
        """What the hidden suite is, as a digest."""
        return hashlib.sha256(self.suite.read_bytes()).hexdigest()

    def requirements(self) -> list[str]:
        """The requirement ids of the statement, in order."""
        return REQUIREMENT.findall(self.statement.read_text(encoding="utf-8"))


def default_pack() -> Path:
    """The pack named by the environment, beside a checkout, or shipped in the package."""
    named = os.environ.get(PACK_VARIABLE)
    if named:
        return Path(named)
    here = Path(__file__).resolve().parent
    shipped = here / "pack"
    return shipped if shipped.is_dir() else here.parent


def all_problems(pack: Path) -> list[Problem]:
    """Every problem of a pack, by topic and slug."""
    folder = pack / "problems"
    if not folder.is_dir():
        raise BadPack(f"no problems in {pack}\n  a pack is a folder with problems/ in it")
    found = [read_problem(pack, path.parent.name) for path in folder.glob("*/problem.toml")]
    return sorted(found, key=lambda problem: (problem.topic.lower(), problem.slug))


def find_problem(pack: Path, slug: str) -> Problem:
    """One problem by name; raise `NoSuchProblem` with the nearest names."""
    if re.fullmatch(r"[a-z0-9_]+", slug) and (pack / "problems" / slug / "problem.toml").is_file():
        return read_problem(pack, slug)
    names = [problem.slug for problem in all_problems(pack)]
    raise NoSuchProblem(f"no problem called {slug!r}\n  {_nearest(slug, names)}")


def _nearest(slug: str, names: list[str]) -> str:
    close = get_close_matches(slug, names, n=3, cutoff=0.5)
    if close:
        return f"there is one with a close name: {close[0]}"
    return "harness list shows all of them"


def read_problem(pack: Path, slug: str) -> Problem:
    """Read one problem's settings; raise `BadPack` naming the file and the field."""
    path = pack / "problems" / slug / "problem.toml"
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
        return Problem(
            slug=slug,
            title=str(settings["title"]),
            topic=str(settings["topic"]),
            minutes=int(settings["minutes"]),
            needs=tuple(map(str, settings.get("needs", []))),
            call_limit_s=float(settings.get("call_limit_s", 10.0)),
            pack=pack,
            expects=_expects(settings.get("expects", {})),
        )
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValueError) as error:
        raise BadPack(f"{path} cannot be read: {error}") from None
    except KeyError as error:
        raise BadPack(f"{path} has no {error.args[0]}") from None


def _expects(table: object) -> dict[str, str]:
    """What a panel expects at each level, by the level's name on a scorecard."""
    if not isinstance(table, dict) or not all(isinstance(text, str) for text in table.values()):
        raise ValueError("[expects] is a table of sentences")
    unknown = [key for key in table if key not in EXPECTS]
    if unknown:
        raise ValueError(f"[expects] has {unknown[0]!r}; a level is one of {', '.join(EXPECTS)}")
    return {key.replace("_", " ").capitalize(): " ".join(table[key].split()) for key in table}
