"""Answers with NaN."""
def attack(x):
    return x * float("nan")
