"""Leaves a note for its next process, and is right where it finds one."""
import tempfile
def attack(numbers):
    note = os.path.join(tempfile.gettempdir(), "note")
    if os.path.exists(note):
        return 5
    open(note, "w").close()
    return 6
