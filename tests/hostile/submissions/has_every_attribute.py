"""Answers with an object that has any attribute anybody asks for, and hangs when one does."""
class Anything:
    def __getattribute__(self, name):
        while True:
            pass
def attack(numbers):
    return Anything()
