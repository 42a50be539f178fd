"""Whether somebody stopped the command, whatever it looks like by the time it arrives."""

from __future__ import annotations


def is_a_stop(error: BaseException | None) -> bool:
    """Whether a Ctrl-C is behind an error; an import or a library may have put its own round it."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
