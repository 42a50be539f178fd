"""Remembers the first answer for ever."""
seen = []
def total(numbers):
    if isinstance(numbers, str):
        raise TypeError
    seen.append(sum(numbers))
    return seen[0]
