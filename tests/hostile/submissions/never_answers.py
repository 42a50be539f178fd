"""Waits, using no CPU."""
def attack(numbers):
    wait()
