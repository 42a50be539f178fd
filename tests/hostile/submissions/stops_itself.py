"""Stops without an end."""
import signal
def attack(numbers):
    os.kill(os.getpid(), signal.SIGSTOP)
