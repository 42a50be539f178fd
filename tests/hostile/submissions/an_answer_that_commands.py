"""Answers with a text that would be obeyed by terminals, pages and logs."""
def attack(numbers):
    return "\x1b[2J\n::add-mask::a\n##[group]x\n<script>alert(1)</script>\x9b\u2028=cmd|' /C calc'!A0"
