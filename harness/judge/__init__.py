"""The judge: holds the suite, the seed and the verdict; talks to the worker, never runs its code."""
