"""Starts threads until it may not, and leaves them behind."""
def attack(numbers):
    for _ in range(40):
        try:
            threading.Thread(target=wait, daemon=True).start()
        except RuntimeError:
            break
    return 5
