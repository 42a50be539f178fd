"""Ignores what can be ignored and goes on for ever."""
import signal
def attack(numbers):
    for number in range(1, 32):
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            pass
    while True:
        pass
