"""Ends with 137, which is not out of memory."""
def attack(numbers):
    os._exit(137)
