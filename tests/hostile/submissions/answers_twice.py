"""Answers right, twice."""
def attack(numbers):
    send(answer(5, after=[[{"dict": []}], 0, 0]))
    return 5
