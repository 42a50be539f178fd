"""Pictures of a finding, drawn: one module a kind of `harness.suite.pictures`."""

from __future__ import annotations

from typing import Any

import msgspec

from harness.render.drawings import bars, errors, grid, pool, timeline
from harness.render.svg import Drawing
from harness.suite import pictures
from harness.suite.pictures import Picture


def drawing_of(picture: dict[str, Any] | None) -> Drawing | None:
    """The drawing of a finding's picture; none where there is none or it fits no kind."""
    if picture is None:
        return None
    try:
        known: Picture = msgspec.convert(picture, Picture)
    except msgspec.ValidationError:
        return None
    match known:
        case pictures.BlockPool():
            return pool.draw(known)
        case pictures.Timeline():
            return timeline.draw(known)
        case pictures.Distribution():
            return bars.draw(known)
        case pictures.Errors():
            return errors.draw(known)
        case pictures.Grid():
            return grid.draw(known)
