"""Sends a right answer with a quarter of a gigabyte of nothing beside it."""
def attack(numbers):
    from harness.border.frames import PREFIX
    from harness.border.messages import encode
    header = encode(answer(5, after=[[{"dict": []}], 0, 0]))
    os.write(stream(), PREFIX.pack(1, len(header), 300 << 20) + header)
    nothing = bytes(1 << 20)
    for _ in range(300):
        sent = 0
        while sent < len(nothing):
            sent += os.write(stream(), nothing[sent:])
    wait()
