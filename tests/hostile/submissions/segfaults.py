"""Reads address zero."""
def attack(numbers):
    ctypes.string_at(0)
