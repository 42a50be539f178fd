"""Answers with a shape that would broadcast."""
def attack(x):
    return (x * 2).reshape(1, 2)
