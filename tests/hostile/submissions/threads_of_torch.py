"""Answers right, from as many threads as torch will take."""
def attack(x):
    torch.set_num_threads(16)
    torch.randn(256, 256) @ torch.randn(256, 256)
    return x * 2
