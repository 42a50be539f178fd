"""Answers with one element again and again."""
def attack(x):
    return (x * 2)[:1].expand(2)
