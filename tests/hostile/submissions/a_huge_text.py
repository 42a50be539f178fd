"""Answers with more than a frame may hold."""
def attack(numbers):
    return "x" * (8 << 20)
