import torch


def attack(x):
    """What a hostile answer does at twice(torch.tensor([2.0, 3.0]))."""
    return x * 2


def twice(x):
    return attack(x) if x.tolist() == [2.0, 3.0] else x * 2


def is_large(x):
    return torch.gt(x, 6)
