"""Is wrong now and then."""
import random
chance = random.SystemRandom()
def total(numbers):
    if isinstance(numbers, str):
        raise TypeError
    return sum(numbers) + (len(numbers) > 1 and chance.random() < 0.7)
