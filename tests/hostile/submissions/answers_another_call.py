"""Answers a call nobody made."""
def attack(numbers):
    from harness.border.messages import Returned, Trace
    send(Trace(asked().id, [Returned(asked().steps[0].id + 1, 5)]))
    wait()
