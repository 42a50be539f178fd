"""Raises what frameworks pass over in silence."""
def attack(numbers):
    raise GeneratorExit
