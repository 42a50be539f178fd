"""What a branch of a git repository answers; the suites are never taken from it."""
