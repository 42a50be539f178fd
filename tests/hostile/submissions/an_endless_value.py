"""Answers with a list that holds itself."""
def attack(numbers):
    value = []
    value.append(value)
    return value
