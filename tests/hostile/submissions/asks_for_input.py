"""Reads what is typed."""
def attack(numbers):
    return input()
