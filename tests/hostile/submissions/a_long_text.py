"""Answers with as much as a frame may hold."""
def attack(numbers):
    return "x" * (1 << 20)
