"""Answers with a list whose length and items are lies."""
class Liar(list):
    def __iter__(self):
        return iter("abc")
    def __len__(self):
        return 9
    def __eq__(self, other):
        return True
def attack(numbers):
    return Liar([5])
