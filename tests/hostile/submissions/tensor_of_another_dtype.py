"""Answers in another precision."""
def attack(x):
    return (x * 2).half()
