"""Sends half of an answer and waits."""
def attack(numbers):
    from harness.border.frames import frame
    from harness.border.messages import encode
    raw = b"".join(frame(1, encode(answer(5)), []))
    os.write(stream(), raw[: len(raw) // 2])
    wait()
