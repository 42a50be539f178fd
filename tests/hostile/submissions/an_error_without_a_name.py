"""Raises an error whose class has no name that can be read, and whose line is a lie."""
class Meta(type):
    @property
    def __name__(cls):
        raise RuntimeError
class Bad(SyntaxError, metaclass=Meta):
    pass
def attack(numbers):
    error = Bad("x")
    error.filename, error.lineno, error.text = __file__, "one", object()
    raise error
