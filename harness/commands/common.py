"""What commands share: the pack, a problem by name, a sandbox by name, errors as plain lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.problems import BadPack, NoSuchProblem, Problem, default_pack, find_problem

if TYPE_CHECKING:
    from harness.sandbox.base import Sandbox

ALL_HELD, SOMETHING_BROKE, USAGE, COULD_NOT_GRADE = 0, 1, 2, 3


def pack_of(ctx: click.Context) -> Path:
    """The pack named on the command line or in the environment, or the one that came along."""
    named = ctx.find_root().obj
    return Path(named) if named else default_pack()


def problem_of(ctx: click.Context, slug: str) -> Problem:
    """A problem by name; a mistyped one is a usage error that suggests the nearest."""
    try:
        return find_problem(pack_of(ctx), slug)
    except (NoSuchProblem, BadPack) as error:
        raise click.UsageError(str(error)) from None


def sandbox_named(backend: str, *, gpu: bool = False) -> Sandbox:
    """The sandbox to use. `auto` is local: practice on one's own code; docker is never swapped."""
    from harness.sandbox.local import LocalSandbox

    if backend == "docker":
        from harness.sandbox.docker import DockerSandbox

        return DockerSandbox(gpu="all" if gpu else None)
    return LocalSandbox()


def wants_colour(stream_is_terminal: bool) -> bool:
    """Colour only where a person looks at a terminal and has not said no."""
    import os

    return stream_is_terminal and "NO_COLOR" not in os.environ
