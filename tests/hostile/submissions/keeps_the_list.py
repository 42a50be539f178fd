"""Gives back the list it was given, changed."""
def total(numbers):
    if isinstance(numbers, str):
        raise TypeError
    numbers.sort()
    return sum(numbers)
