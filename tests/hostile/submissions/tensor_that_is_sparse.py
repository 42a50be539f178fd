"""Answers right, in another layout."""
def attack(x):
    return (x * 2).to_sparse()
