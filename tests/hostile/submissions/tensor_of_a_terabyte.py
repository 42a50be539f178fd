"""Announces a tensor of a terabyte, which is four bytes with a stride of zero."""
def attack(x):
    send(answer({"tensor": ["float32", [1 << 40], [0], 0, 0, 4, "cpu"]}), blobs=[bytes(64)])
    wait()
