"""Where a candidate's worker runs: one small interface, a local and a Docker backend."""
