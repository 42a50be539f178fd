"""Reads and writes the memory and streams of the process it was forked from, and traces it."""
def attack(numbers):
    parent = f"/proc/{os.getppid()}"
    for name in ("mem", "environ", "maps", *(f"fd/{number}" for number in range(16))):
        for mode in ("rb", "wb"):
            try:
                with open(f"{parent}/{name}", mode):
                    return f"opened {name}"
            except OSError:
                continue
    libc = ctypes.CDLL(None, use_errno=True)
    return "traced" if libc.ptrace(16, os.getppid(), 0, 0) == 0 else 5
