"""Answers with a set whose members all have one hash: the judge would compare each with each."""
def attack(numbers):
    prime = 2**61 - 1
    send(answer({"set": [{"int": hex(prime * number)} for number in range(1, 30_000)]}))
    wait()
