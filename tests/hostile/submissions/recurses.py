"""Recurses for ever, within Python's limit."""
def attack(numbers):
    return attack(numbers)
