"""Answers with a dict that has a key twice."""
def attack(numbers):
    send(answer({"dict": [[1, 1], [1, 2]]}))
    wait()
