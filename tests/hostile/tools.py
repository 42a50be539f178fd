"""What an attacker has at hand: put in front of every submission of this folder."""

import ctypes
import os
import stat
import sys
import threading  # noqa: F401 - submissions use it
import time


def stream():
    """The descriptor that this process answers on: whoever looks finds it."""
    for number in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                return number
        except OSError:
            continue
    raise LookupError("no stream")


def send(message, channel=1, blobs=()):
    """Write a frame of one's own."""
    from harness.border.frames import frame
    from harness.border.messages import encode

    for piece in frame(channel, encode(message), list(blobs)):
        os.write(stream(), piece)


def asked():
    """The program that is being run, from the caller's frames."""
    found = sys._getframe()
    while not hasattr(found.f_locals.get("message"), "steps"):
        found = found.f_back
    return found.f_locals["message"]


def answer(value, **more):
    """A whole trace with this value, as the worker itself would write it."""
    from harness.border.messages import Returned, Trace

    run = asked()
    return Trace(run.id, [Returned(step.id, value, **more) for step in run.steps])


def name_process(name=b"hx-leftover"):
    """Call this process what the tests look for afterwards."""
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)


def wait():
    """Do nothing for longer than anybody waits."""
    time.sleep(60)
