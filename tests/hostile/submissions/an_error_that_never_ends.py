"""Raises an error whose text is never finished."""
class Bad(Exception):
    def __str__(self):
        wait()
def attack(numbers):
    raise Bad
