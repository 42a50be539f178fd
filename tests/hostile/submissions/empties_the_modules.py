"""Takes the worker's modules away."""
def attack(numbers):
    for name in [name for name in sys.modules if name.startswith("harness")]:
        sys.modules[name] = None
    return 5
