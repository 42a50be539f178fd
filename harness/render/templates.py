"""The templates that came with the harness, and jinja2 set up for them."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
from harness.render.plain import lines_of

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Embedded:
    """A style or script of ours inside a page, and the digest by which the page allows it."""

    text: Markup
    sha256: str


def folder() -> Path:
    """`templates/`: packed into the package, or beside it in a checkout."""
    here = Path(harness.__file__).resolve().parent
    packed = here / "pack" / "templates"
    return packed if packed.is_dir() else here.parent / "templates"


@cache
def template(name: str) -> Template:
    """A template by file name. What goes in can't be obeyed by what shows it, and is escaped in
    HTML; a missing name is an error.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(folder()),
        autoescape=".html" in name,
        finalize=_harmless,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)


def embedded(*names: str) -> Embedded:
    """These files of `templates/`, one after the other."""
    from markupsafe import Markup

    text = "".join((folder() / name).read_text(encoding="utf-8") for name in names)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return Embedded(Markup(text), digest)


def _harmless(value: Any) -> Any:
    """Text with every control character written out; markup of our own as it is."""
    return lines_of(value) if type(value) is str else value
