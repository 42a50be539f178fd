"""Tells the judge that the process ended, in its parent's name."""
def attack(numbers):
    from harness.border.messages import Ended
    send(Ended(0, 0, -1, False, False, "", b"all held"), channel=0)
    wait()
