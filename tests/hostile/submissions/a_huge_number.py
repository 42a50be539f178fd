"""Answers with a number of a hundred thousand bits."""
def attack(numbers):
    return 1 << 100_000
