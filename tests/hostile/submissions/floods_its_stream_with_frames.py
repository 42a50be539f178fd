"""Writes valid frames to the judge without an end."""
def attack(numbers):
    while True:
        send(answer(5), blobs=[bytes(1 << 20)])
