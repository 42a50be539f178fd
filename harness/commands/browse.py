"""`harness list`, `show` and `start`: what there is to solve, and a stub to begin with."""

from __future__ import annotations

import time
from pathlib import Path

import click

from harness import journal
from harness.commands.common import pack_of, problem_of
from harness.problems import BadPack, all_problems
from harness.render.wrapped import wrapped


@click.command("list", short_help="The problems there are.")
@click.pass_context
def list_command(ctx: click.Context) -> None:
    """The problems there are, by topic."""
    try:
        problems = all_problems(pack_of(ctx))
    except BadPack as error:
        raise click.UsageError(str(error)) from None
    longest = max((len(problem.slug) for problem in problems), default=0)
    topic = None
    for problem in problems:
        if problem.topic != topic:
            click.echo(("\n" if topic else "") + problem.topic)
            topic = problem.topic
        click.echo(f"  {problem.slug:<{longest}} {problem.minutes:>3} min  {problem.title}")
    click.echo("\nNext: harness show SLUG")


@click.command("show", short_help="A problem's statement.")
@click.argument("slug")
@click.pass_context
def show_command(ctx: click.Context, slug: str) -> None:
    """A problem's statement, as the candidate reads it."""
    problem = problem_of(ctx, slug)
    click.echo(wrapped(problem.statement.read_text(encoding="utf-8")), nl=False)
    click.echo(f"\nNext: harness start {problem.slug}")


@click.command("start", short_help="Copy a problem's stub into this folder.")
@click.argument("slug")
@click.pass_context
def start_command(ctx: click.Context, slug: str) -> None:
    """Copy a problem's stub into this folder; an existing file is never replaced."""
    problem = problem_of(ctx, slug)
    target = Path(f"{problem.slug}.py")
    try:
        with target.open("xb") as handle:
            handle.write(problem.stub.read_bytes())
    except FileExistsError:
        raise click.UsageError(
            f"{target} is here already; it was left as it is\n"
            f"  harness check {problem.slug} grades it"
        ) from None
    except OSError as error:
        raise click.UsageError(
            f"{target} cannot be written here: {error.strerror}\n  try another folder"
        ) from None
    journal.update(Path(), problem.slug, file=str(target), started=time.time(), hints=0)
    click.echo(f"{target} is ready. {problem.minutes} minutes.")
    click.echo(f"Next: harness show {problem.slug}, then harness check {problem.slug}")
