"""Raises an error whose text raises another."""
class Bad(Exception):
    def __str__(self):
        raise KeyboardInterrupt
    __repr__ = __str__
def attack(numbers):
    raise Bad
