"""Recurses for ever, past Python's limit."""
def attack(numbers):
    sys.setrecursionlimit(1 << 30)
    def deeper():
        return deeper()
    return deeper()
