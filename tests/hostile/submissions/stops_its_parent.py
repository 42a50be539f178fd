"""Stops the process it was forked from."""
import signal
def attack(numbers):
    os.kill(os.getppid(), signal.SIGSTOP)
    wait()
