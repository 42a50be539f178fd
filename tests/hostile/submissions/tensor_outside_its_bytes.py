"""Announces a tensor in memory that was never sent."""
def attack(x):
    send(answer({"tensor": ["float32", [2], [], 0, 1 << 20, 8, "cpu"]}), blobs=[bytes(64)])
    wait()
