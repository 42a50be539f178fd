"""Raises what a test runner takes for the user's wish to stop."""
def attack(numbers):
    raise KeyboardInterrupt
