"""Aborts."""
def attack(numbers):
    os.abort()
