"""Announces a tensor of a million dimensions."""
def attack(x):
    send(answer({"tensor": ["float32", [1] * 1_000_000, [], 0, 0, 4, "cpu"]}, ), blobs=[bytes(64)])
    wait()
