"""Replaces the worker's own functions: every answer is 5 from now on."""
def attack(numbers):
    from harness.worker import child
    child.pack = lambda *_: 5
    return "wrong"
