"""Prints without an end."""
def attack(numbers):
    while True:
        print("x" * 10_000)
