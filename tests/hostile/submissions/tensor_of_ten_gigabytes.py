"""Answers with ten gigabytes that are one element."""
def attack(x):
    return torch.zeros(1).expand(10 << 30)
