"""Raises an error whose name, message and line would be obeyed by terminals, pages and logs."""
class Evil(Exception):
    pass
Evil.__name__ = "\x1b[31m::error::<script>"
def attack(numbers):
    raise Evil("\x1b]0;x\x07\r\n::error file=a,line=1::forged\n##[error]x\n<img src=x>|`\u202e")  # \x1b ::stop-commands::x
