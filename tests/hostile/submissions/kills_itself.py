"""Ends by signal 9, like a memory kill does."""
import signal
def attack(numbers):
    os.kill(os.getpid(), signal.SIGKILL)
