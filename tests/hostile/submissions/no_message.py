"""Sends what is no msgpack."""
import struct
def attack(numbers):
    os.write(stream(), struct.pack("<BIQ", 1, 8, 0) + b"\xc1" * 8)
    wait()
