"""Ends the process where an object is made."""
class Tally:
    def __init__(self):
        os._exit(0)
