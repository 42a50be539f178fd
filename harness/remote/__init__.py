"""The judge's side of the border: a session with one submission's worker, and faults by name."""
