"""Calls home."""
import socket
def attack(numbers):
    try:
        socket.create_connection(("1.1.1.1", 53), timeout=0.3)
    except OSError:
        return 5
    return "went out"
