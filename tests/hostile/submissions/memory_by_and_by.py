"""Takes memory until there is none."""
def attack(numbers):
    kept = []
    while True:
        kept.append(bytearray(1 << 24))
