"""Raises an error whose text ends the process."""
class Bad(Exception):
    def __str__(self):
        os._exit(0)
def attack(numbers):
    raise Bad
