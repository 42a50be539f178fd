"""`harness doctor` and `harness image build`: what this machine can run."""

from __future__ import annotations

import click

from harness.commands.common import COULD_NOT_GRADE


@click.command("doctor", short_help="What this machine can run.")
@click.pass_context
def doctor_command(ctx: click.Context) -> None:
    """What this machine can run, and what it cannot assess."""
    from harness.sandbox.doctor import doctor_facts

    remedies = []
    for name, is_fine, words, remedy in doctor_facts():
        click.echo(f"  {'ok' if is_fine else 'no':3} {name:18} {words}")
        if not is_fine and remedy:
            remedies.append(remedy)
    click.echo(f"Next: {remedies[0]}" if remedies else "Next: harness list")


@click.group("image", short_help="The image that candidates' code runs in.")
def image_command() -> None:
    """The image that candidates' code runs in."""


@image_command.command("build")
@click.option(
    "--base",
    default="python:3.11-slim",
    show_default=True,
    metavar="IMAGE",
    help="What to build on: a Python image; for --gpu one with a C compiler.",
)
@click.option(
    "--wheels",
    type=click.Path(exists=True, file_okay=False),
    metavar="DIR",
    help="A folder of wheels to use instead of downloading them.",
)
@click.option("--gpu", is_flag=True, help="The image for CUDA devices.")
@click.pass_context
def image_build_command(ctx: click.Context, base: str, wheels: str | None, gpu: bool) -> None:
    """Make the wheels and build the worker's image.

    \b
    Examples:
      harness image build
      harness image build --base python:3.11 --gpu
    """
    from harness.sandbox.base import CannotStart
    from harness.sandbox.image import build

    try:
        tag = build(base=base, wheels=wheels, gpu=gpu)
    except CannotStart as error:
        click.echo(f"the image was not built: {error.reason}", err=True)
        if error.remedy:
            click.echo(f"Next: {error.remedy}", err=True)
        ctx.exit(COULD_NOT_GRADE)
    click.echo(f"{tag} is ready.")
    click.echo("Next: harness check paged_allocator --backend docker")
