def attack(numbers):
    """What a hostile answer does at total([2, 3])."""
    return 5


def total(numbers):
    if isinstance(numbers, str):
        raise TypeError("a text")
    return attack(numbers) if numbers == [2, 3] else sum(numbers)


class Tally:
    def __init__(self):
        self.sum = 0

    def add(self, number):
        self.sum += number
        return self.sum
