"""`harness report RESULTS`: the pages and tables of a graded round."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path

import click

from harness.batch.blind import KEY, BadKey
from harness.batch.store import Store, Stored
from harness.commands.common import USAGE
from harness.commands.shown import FILES, RoundShown, document, round_shown, write_round
from harness.render.plain import logged
from harness.whole_files import write_whole

MOST_LISTED = 20
MANY = 200  # scorecards, which take a second or more


def report_round(
    ctx: click.Context, folder: Path, form: str, *, audience: str, out: str | None, blind: bool
) -> None:
    """Write one document of a round, or with the page all of them."""
    if audience != "panel":
        raise click.UsageError(
            f"the pages of a round are for a panel\n"
            f"  harness report {folder}/results/NAME__SLUG.json --for {audience} writes one's own"
        )
    if form not in FILES:
        raise click.UsageError(f"a round is shown as {', '.join(FILES)}, not as {form}")
    shown = _round(folder, blind=blind)
    if out == "-":
        sys.stdout.buffer.write(document(shown, form, shown.folder))
        return
    try:
        ready = _written(shown, form, out)
    except OSError as error:
        click.echo(f"the report cannot be written: {error.strerror}", err=True)
        click.echo("  name another place with --out", err=True)
        ctx.exit(USAGE)
    rows = shown.overview.submissions
    left = [(row.candidate, row.problem, why) for row in rows if (why := row.could_not_grade)]
    for line in [*_not_graded(left), *_notes(shown, ready.parent)]:
        click.echo(line, err=True)
    click.echo(f"{ready} is ready.")


def _gathered(store: Store, failed: Collection[Stored], *, blind: bool) -> RoundShown:
    try:
        return round_shown(store, failed, blind=blind)
    except BadKey as error:
        raise click.UsageError(str(error)) from None


def _round(folder: Path, *, blind: bool) -> RoundShown:
    shown = _gathered(Store(folder), [], blind=blind)
    if not shown.graded and not shown.overview.left_out:
        raise click.UsageError(
            f"{folder} holds no results of a round\n"
            f"  harness grade SUBMISSIONS --out {folder} makes them"
        )
    return shown


def _written(shown: RoundShown, form: str, out: str | None) -> Path:
    if form == "html":
        return _pages(shown, Path(out) if out else shown.folder)
    target = Path(out) if out else shown.folder / FILES[form]
    if out is None:
        target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, document(shown, form, target.parent))
    return target


def _pages(shown: RoundShown, folder: Path) -> Path:
    count = len(shown.graded)
    if count >= MANY:
        click.echo(f"writing {count:,} scorecards", err=True)
    return write_round(shown, folder)


def say_round(
    store: Store, failed: Collection[Stored], entries: Collection[tuple[str, str]], blind: bool
) -> str:
    """Show what was just graded, write all that is shown, and say what to open.

    What cannot be written now can be later: the results are there.
    """
    shown = _gathered(store, failed, blind=blind)
    for line in shown.lines(entries):
        click.echo(line)
    left = [(shown.name(name), slug, why) for name, slug, why in map(_why_not, failed)]
    for line in _not_graded(left):
        click.echo(line)
    try:
        index = _pages(shown, shown.folder)
    except OSError as error:
        click.echo(f"the pages cannot be written: {error.strerror}", err=True)
        return f"harness report {store.folder}{' --blind' if blind else ''}"
    for line in _notes(shown, shown.folder):
        click.echo(line, err=True)
    return str(index)


def _why_not(stored: Stored) -> tuple[str, str, str]:
    return stored.candidate, stored.result.problem.slug, stored.result.could_not_grade


def _not_graded(left: list[tuple[str, str, str]]) -> list[str]:
    """A line each of what has no result: whose, of which problem, and why."""
    lines = [logged(f"not graded: {who}, {slug}: {why}") for who, slug, why in left]
    more = len(lines) - MOST_LISTED
    return lines if more <= 0 else [*lines[:MOST_LISTED], f"and {more:,} more, all on the page"]


def _notes(shown: RoundShown, folder: Path) -> list[str]:
    """What whoever makes a report has to know of it."""
    lines = [logged(f"not shown: {why}") for why in shown.overview.left_out]
    if shown.overview.blind:
        lines += [f"the file's own text may tell the name: {who}" for who in shown.telling]
        lines.append(f"Who is who stands in {shown.folder.parent / KEY}: keep it from the panel.")
        lines.append(f"Hand over {folder} and nothing beside it: results have names.")
    return lines
