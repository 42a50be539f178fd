"""Starts processes that start processes."""
def attack(numbers):
    for _ in range(60):
        try:
            if os.fork() == 0:
                name_process()
                wait()
                os._exit(0)
        except OSError:
            break
    wait()
