"""Asks for 64 GiB."""
def attack(numbers):
    return len(bytearray(1 << 36))
