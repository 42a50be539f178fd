"""Lets another process write the right answer, and dies."""
def attack(numbers):
    if os.fork() == 0:
        name_process()
        send(answer(5, after=[[{"dict": []}], 0, 0]))
        wait()
    os._exit(0)
