"""Fills its temporary folder, then answers."""
def attack(numbers):
    try:
        for number in range(40):
            with open(f"big{number}", "wb") as file:
                file.write(bytes(4 << 20))
    except OSError:
        pass
    return 5
