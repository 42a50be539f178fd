"""`python -I -m harness.worker`: the warm parent, on standard input and output."""

from harness.worker.parent import main

main()
