"""Answers right, as every third element of a larger tensor."""
def attack(x):
    large = torch.zeros(9)
    large[1:7:3] = x * 2
    return large[1:7:3]
