"""Ends the process as soon as it is imported, with the status of success."""
os._exit(0)
