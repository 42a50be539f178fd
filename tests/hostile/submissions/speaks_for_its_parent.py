"""Tells the judge how little it has used, in its parent's name."""
def attack(numbers):
    from harness.border.messages import Used
    send(Used(0, 0), channel=0)
    wait()
