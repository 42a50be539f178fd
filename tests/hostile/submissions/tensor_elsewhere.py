"""Answers with a tensor that has no memory."""
def attack(x):
    return (x * 2).to("meta")
