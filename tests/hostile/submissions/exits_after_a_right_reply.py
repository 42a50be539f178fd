"""Writes the right answer itself and ends the process before the worker does."""
def attack(numbers):
    send(answer(5, after=[[{"dict": []}], 0, 0]))
    os._exit(0)
