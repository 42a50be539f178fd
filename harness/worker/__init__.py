"""What runs beside the candidate's file, in a sandbox: no suite, no reference, no seed.

It needs the standard library and msgspec; numpy and torch only when the problem does.
"""
