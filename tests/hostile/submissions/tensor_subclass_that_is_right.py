"""Answers right, with a parameter that wants a gradient."""
def attack(x):
    return torch.nn.Parameter(x * 2)
