"""Allocates ten gigabytes."""
def attack(x):
    return torch.ones(10 << 30, dtype=torch.uint8)
