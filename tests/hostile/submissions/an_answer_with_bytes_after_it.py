"""Answers right, with bytes after every answer."""
from harness.worker import stream as written
write = written.write_message
def attack(numbers):
    def more(number, *message):
        write(number, *message)
        os.write(number, b"and more, and more")
    written.write_message = more
    return 5
