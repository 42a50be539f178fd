"""Loops in native code that never lets Python do anything."""
import itertools
def attack(numbers):
    sum(itertools.repeat(0))
