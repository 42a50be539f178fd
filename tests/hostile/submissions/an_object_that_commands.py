"""Answers with an object whose class has such a name."""
def attack(numbers):
    return type("\x1b[31m\n::error::x<b>", (), {})()
