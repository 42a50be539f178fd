"""The commands, one module each: arguments in, text and an exit code out."""
