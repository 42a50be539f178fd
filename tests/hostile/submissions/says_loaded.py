"""Says that it was imported, again."""
def attack(numbers):
    from harness.border.messages import Loaded
    send(Loaded(["total"]))
    wait()
