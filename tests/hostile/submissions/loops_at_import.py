"""Never gets to its last line."""
while True:
    pass
