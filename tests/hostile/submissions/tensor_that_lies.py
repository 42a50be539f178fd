"""Answers with a subclass that lies about everything."""
class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True
    def __eq__(self, other):
        return True
    shape = property(lambda self: torch.Size([2]))
    __hash__ = None
def attack(x):
    return torch.zeros(2).as_subclass(Liar)
