"""Answers with a truth value that is neither true nor false."""
def is_large(x):
    send(answer({"tensor": ["bool", [2], [], 0, 0, 2, "cpu"]}), blobs=[b"\2\1" + bytes(62)])
    wait()
