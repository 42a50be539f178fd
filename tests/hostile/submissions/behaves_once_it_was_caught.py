"""Is wrong once, and right for ever after, so that nothing can be shown again."""
caught = []
def attack(numbers):
    caught.append(1)
    return 5 if len(caught) > 1 else 6
