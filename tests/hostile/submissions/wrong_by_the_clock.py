"""Is wrong while the process is young."""
born = time.monotonic()
def attack(numbers):
    return 6 if time.monotonic() - born < 60 else 5
