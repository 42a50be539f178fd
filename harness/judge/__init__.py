"""The judge: holds the suite, the seed and the verdict, and never runs a candidate's code."""
