"""Replaces what the worker is written with."""
import builtins
builtins.isinstance = lambda *_: True
builtins.len = lambda *_: 5
def attack(numbers):
    return "wrong"
