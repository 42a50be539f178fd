"""Announces a frame of 4 GiB."""
import struct
def attack(numbers):
    os.write(stream(), struct.pack("<BIQ", 1, 0xFFFFFFFF, 1 << 32))
    wait()
