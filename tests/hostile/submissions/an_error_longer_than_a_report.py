"""Says it raised, with a message of a megabyte."""
def attack(numbers):
    from harness.border.messages import Failed, Trace, Where
    where = Where("E", ["E"], "x" * (1 << 20), 1, "")
    send(Trace(asked().id, [Failed(asked().steps[0].id, where)]))
    wait()
