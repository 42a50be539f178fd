"""`harness explain`: one check in words, without its suite."""

from __future__ import annotations

import textwrap

import click

from harness.commands.common import problem_of
from harness.render.terminal import WIDTH


@click.command("explain", short_help="One check in words.")
@click.argument("slug")
@click.argument("check")
@click.pass_context
def explain_command(ctx: click.Context, slug: str, check: str) -> None:
    """One check: its claim, why it matters, a sketch of the mistake, what a panel asks.

    \b
    Example:
      harness explain paged_allocator a-held-block-is-never-handed-out-again
    """
    from harness.authoring.claims import claims_of
    from harness.authoring.wrong import read_wrong
    from harness.suite.claims import identify

    problem = problem_of(ctx, slug)
    claims = {claim.id: claim for claim in claims_of(problem)}
    wanted = identify(check)
    if wanted not in claims:
        from difflib import get_close_matches

        close = get_close_matches(wanted, claims, n=1, cutoff=0.3)
        hint = f"there is one with a close name: {close[0]}" if close else "see harness check"
        raise click.UsageError(f"{slug} has no check called {check!r}\n  {hint}")
    claim = claims[wanted]
    mistakes = [wrong.mistake for wrong in read_wrong(problem) if wrong.caught_by == claim.id]
    click.echo(f"{claim.id} ({claim.requirement}, {claim.kind.value})\n")
    mistake = mistakes[0] if mistakes else ""
    parts = {"claim": claim.text, "why": claim.why, "mistake": mistake, "asked": claim.ask}
    for label, text in parts.items():
        for number, line in enumerate(textwrap.wrap(text, WIDTH - 10)):
            click.echo(f"  {label if number == 0 else '':<8}{line}")
    click.echo(f"\nNext: harness check {slug} --only {claim.id}")
