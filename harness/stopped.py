"""Being stopped: by which signals, and whether an error is somebody's Ctrl-C when it arrives."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Any

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM")
AGAIN_S = 0.02
# The garbage collector's, an import lock's, and those of logging and random round a fork.
CALLBACKS = ("gc_callback", "cb", "__del__", "_acquireLock", "_releaseLock", "_after_fork")


def on_signals(handler: Any) -> None:
    """Have the signals that stop a command handled so."""
    for name in SIGNALS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), handler)
    sys.unraisablehook = _tried_again


def stop(_: int, frame: FrameType | None) -> None:
    """End by an exception, so that sandboxes are ended on the way out.

    Python drops what is raised inside of a callback of its own: then it is tried again a moment
    later.
    """
    within = frame.f_code.co_name if frame is not None else ""
    if within in CALLBACKS and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
        return
    raise KeyboardInterrupt


def _tried_again(dropped: sys.UnraisableHookArgs) -> None:
    """A stop that Python dropped in a callback that is not named here comes again."""
    if isinstance(dropped.exc_value, KeyboardInterrupt) and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
    else:
        sys.__unraisablehook__(dropped)


def is_a_stop(error: BaseException | None) -> bool:
    """Whether a Ctrl-C is behind an error; an import or a library may have put its own round it."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
