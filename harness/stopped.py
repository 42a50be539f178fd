"""Being stopped: by which signals, and whether an error is somebody's Ctrl-C when it arrives."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM")
AGAIN_S = 0.02


def on_signals(handler: Any) -> None:
    """Have the signals that stop a command handled so."""
    for number in _numbers():
        signal.signal(number, handler)
    sys.unraisablehook = _tried_again


def stop(_: int, __: FrameType | None) -> None:
    """End by an exception, so that sandboxes are ended on the way out."""
    raise KeyboardInterrupt


@contextlib.contextmanager
def whole() -> Iterator[None]:
    """For what must not be left half done: a stop that comes meanwhile is heard after it.

    A process forked inside starts deaf; `hear` ends that.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    heard = signal.pthread_sigmask(signal.SIG_BLOCK, _numbers())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, heard)


def hear() -> None:
    """Be told to stop from now on."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _numbers())


def _numbers() -> list[signal.Signals]:
    return [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]


def _tried_again(dropped: sys.UnraisableHookArgs) -> None:
    """Python drops what is raised inside of a callback of its own, as the garbage collector's, an
    import lock's and those round a fork: a stop comes again a moment later.
    """
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
