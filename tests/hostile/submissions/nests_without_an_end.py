"""Answers with a hundred thousand lists inside of each other."""
import struct
def attack(numbers):
    body = b"\x91" * 100_000 + b"\xc0"
    os.write(stream(), struct.pack("<BIQ", 1, len(body), 0) + body)
    wait()
