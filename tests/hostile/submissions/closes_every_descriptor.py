"""Closes everything that is open."""
def attack(numbers):
    os.closerange(0, 256)
    wait()
