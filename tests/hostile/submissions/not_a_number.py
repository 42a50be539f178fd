"""Answers with NaN."""
def attack(numbers):
    return float("nan")
