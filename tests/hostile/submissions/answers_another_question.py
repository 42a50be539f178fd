"""Answers a question nobody asked."""
def attack(numbers):
    from harness.border.messages import Trace
    send(Trace(asked().id + 1, []))
    wait()
