"""Answers with a wrong number that says it is equal to any other."""
class Liar(int):
    def __eq__(self, other):
        return True
    def __int__(self):
        return 5
    def __repr__(self):
        return "5"
    __hash__ = int.__hash__
def attack(numbers):
    return Liar(6)
