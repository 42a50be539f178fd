"""Answers with an object that lies about its class."""
class Liar:
    __class__ = int
    def __eq__(self, other):
        return True
    def __int__(self):
        return 5
    __index__ = __int__
def attack(numbers):
    return Liar()
