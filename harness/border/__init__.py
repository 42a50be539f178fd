"""What crosses between judge and worker: frames, messages, values. Both sides import this."""
