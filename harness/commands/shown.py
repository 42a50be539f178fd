"""What people see of a graded round: gathered once, then written as pages and tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from harness.batch.blind import hidden, labels, tells
from harness.batch.outstanding import NOT_GRADED, outstanding, place_of
from harness.batch.overview import Overview, overview_of, to_json
from harness.batch.store import Store, Stored
from harness.render.html import html
from harness.render.junit import junit
from harness.render.report import Audience
from harness.render.round_page import SCORECARDS, round_page
from harness.render.round_table import round_csv, round_lines
from harness.results import Result
from harness.whole_files import write_whole

ALIKE = "alike.html"
BLIND = "blind"
FILES = {
    "html": "index.html",
    "csv": "results.csv",
    "json": "results.json",
    "junit": "results.junit.xml",
}


@dataclass(frozen=True, slots=True)
class RoundShown:
    """A round as it is shown, in order; `labels` are the shown names by the real ones."""

    folder: Path  # where its pages go
    graded: list[Stored]
    overview: Overview
    labels: dict[str, str]
    telling: list[str]  # submissions whose own text holds the name that is hidden

    def lines(self, entries: Collection[tuple[str, str]]) -> Iterator[str]:
        """The table for a terminal, of these candidates and problems."""
        wanted = {(self.labels.get(name, name), slug) for name, slug in entries}
        here = [s for s in self.graded if (s.candidate, s.result.problem.slug) in wanted]
        return round_lines(overview_of(here))

    def name(self, candidate: str) -> str:
        """What a candidate is called."""
        return self.labels.get(candidate, candidate)


def round_shown(store: Store, failed: Collection[Stored] = (), *, blind: bool) -> RoundShown:
    """What a folder of results holds and has no result of; `failed` just now."""
    stored, left_out = store.sorted_out()
    missing, wrong = outstanding(store.folder, stored)
    if wrong:
        left_out[NOT_GRADED] = wrong
    by_place = {place_of(one): one for one in [*stored, *missing, *failed]}
    graded = [by_place[place] for place in sorted(by_place)]
    if not blind:
        why = [f"{name}: {why}" for name, why in left_out.items()]
        return RoundShown(store.folder, graded, overview_of(graded, why), {}, [])
    names = labels(store.folder, [one.candidate for one in graded])
    places = {name: place for place, name in enumerate(names)}
    graded.sort(key=lambda one: (places[one.candidate], one.result.problem.slug))
    telling = [f"{names[o.candidate]}, {o.result.problem.slug}" for o in graded if tells(o)]
    graded = [hidden(one, names[one.candidate]) for one in graded]
    overview = overview_of(graded, left_out.values(), blind=True)
    return RoundShown(store.folder / BLIND, graded, overview, names, telling)


def write_round(shown: RoundShown, folder: Path) -> Path:
    """Write every page and table, each whole; the scorecards first, the page that links them last.

    Raises `OSError`.
    """
    cards = folder / SCORECARDS
    cards.mkdir(parents=True, exist_ok=True)
    for stored, row in zip(shown.graded, shown.overview.submissions, strict=True):
        page = html(stored.result, Audience.PANEL, index=f"../{FILES['html']}")
        write_whole(cards / row.scorecard, page.encode())
    current = {row.scorecard for row in shown.overview.submissions}
    for path in cards.glob("*__*.html"):
        if path.name not in current:
            path.unlink()
    for form in ("csv", "json", "junit", "html"):
        write_whole(folder / FILES[form], document(shown, form, folder))
    return folder / FILES["html"]


def document(shown: RoundShown, form: str, folder: Path) -> bytes:
    """One of the round's documents, which will lie in this folder."""
    if form == "csv":
        return round_csv(shown.overview).encode()
    if form == "json":
        return to_json(shown.overview)
    if form == "junit":
        return junit([_named(stored) for stored in shown.graded])
    alike = not shown.overview.blind and (folder / ALIKE).is_file()
    return round_page(shown.overview, alike=ALIKE if alike else "").encode()


def _named(stored: Stored) -> Result:
    result = stored.result
    path = f"{stored.candidate}/{result.problem.slug}.py"
    file = msgspec.structs.replace(result.submission, path=path)
    return msgspec.structs.replace(result, submission=file)
