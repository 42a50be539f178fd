"""Grading a folder of submissions: finding them, running them, never losing a result."""
