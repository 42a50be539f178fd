"""Fails in the right file, at a line that the file does not have: a report looks for it there."""
def attack(numbers):
    exec(compile("\n" * 100_000 + "raise ValueError('there')", __file__, "exec"))
