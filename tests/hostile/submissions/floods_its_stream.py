"""Writes garbage to the judge without an end."""
def attack(numbers):
    while True:
        os.write(stream(), b"x" * 65536)
