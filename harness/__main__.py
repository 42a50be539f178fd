"""`python -m harness` is the `harness` command.

`python -m` looks for every module in the current folder first. That folder may hold strangers'
files, one of them called pytest.py: it is left out before anything else is imported.
"""

import os
import signal
import sys

if sys.path and os.path.realpath(sys.path[0] or ".") == os.getcwd():
    del sys.path[0]

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the command has a handler, end at once

from harness.cli import main

if __name__ == "__main__":
    main()
