"""Leaves links, pipes, locked folders and a nest without an end for whoever clears up."""
def attack(numbers):
    os.symlink("/etc", "link")
    os.mkfifo("fifo")
    os.makedirs("locked/inner")
    os.chmod("locked/inner", 0)
    os.chmod("locked", 0)
    for _ in range(1500):
        os.mkdir("d")
        os.chdir("d")
    return 5
