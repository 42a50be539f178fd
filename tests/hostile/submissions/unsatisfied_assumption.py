"""Raises an exception called like the one that drops an example."""
class UnsatisfiedAssumption(BaseException):
    pass
UnsatisfiedAssumption.__module__ = "hypothesis.errors"
def attack(numbers):
    raise UnsatisfiedAssumption
