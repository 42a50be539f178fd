"""Ends at once, and leaves a process that holds its stream."""
def attack(numbers):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            name_process()
            wait()
        os._exit(0)
    time.sleep(0.2)
    os._exit(0)
