"""A submission that tries to get out. Each function answers with what the kernel said."""

import ctypes
import errno
import gc
import os
import platform
import socket
import stat
import subprocess
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = {
    "ptrace": 101, "pivot_root": 155, "chroot": 161, "mount": 165, "init_module": 175,
    "kexec_load": 246, "keyctl": 250, "unshare": 272, "perf_event_open": 298,
    "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311,
    "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425, "pidfd_getfd": 438, "fsopen": 430,
}  # fmt: skip
ARM = {
    "ptrace": 117, "pivot_root": 41, "chroot": 51, "mount": 40, "init_module": 105,
    "kexec_load": 104, "keyctl": 219, "unshare": 97, "perf_event_open": 241,
    "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271,
    "bpf": 280, "userfaultfd": 282, "io_uring_setup": 425, "pidfd_getfd": 438, "fsopen": 430,
}  # fmt: skip
NEW_USER = 0x10000000


def system_calls():
    numbers = X86 if platform.machine() == "x86_64" else ARM
    said = {}
    for name, number in numbers.items():
        first = NEW_USER if name == "unshare" else os.getppid() if name == "ptrace" else 16
        ctypes.set_errno(0)
        LIBC.syscall(number, first, 0, 0, 0, 0, 0)
        said[name] = errno.errorcode.get(ctypes.get_errno(), "went through")
    return said


def new_user_namespace_by_clone():
    ctypes.set_errno(0)
    number = 56 if platform.machine() == "x86_64" else 220
    pid = LIBC.syscall(number, NEW_USER | 17, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    return errno.errorcode.get(ctypes.get_errno(), "went through")


def sockets():
    said = {}
    for name, family, kind, protocol in [
        ("vsock", 40, 1, 0), ("packet", 17, 3, 0), ("netlink", 16, 3, 0), ("crypto", 38, 5, 0),
        ("raw", 2, 3, 1),
    ]:  # fmt: skip
        try:
            socket.socket(family, kind, protocol).close()
            said[name] = "went through"
        except OSError as error:
            said[name] = errno.errorcode[error.errno]
    return said


def network():
    try:
        socket.create_connection(("192.0.2.1", 80), timeout=1).close()  # an address for examples
        return "went through"
    except OSError as error:
        return errno.errorcode.get(error.errno, repr(error))


def interfaces():
    return os.listdir("/sys/class/net")


def writes():
    said = {}
    for place in ("/x", "/opt/harness/x", "/opt/harness/harness/x", "/usr/local/x", "/etc/x",
                  "/dev/x", "/sys/x", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger",
                  "/sys/fs/cgroup/memory/x", "/var/tmp/x", "/run/x"):  # fmt: skip
        try:
            with open(place, "w") as file:
                file.write("x")
            said[place] = "went through"
        except OSError as error:
            said[place] = errno.errorcode[error.errno]
    return said


def other_processes():
    said = {}
    for pid in {1, os.getppid()}:
        for name in ("mem", "environ", "maps", "fd/0", "fd/1", "root"):
            for mode in ("rb", "wb"):
                try:
                    with open(f"/proc/{pid}/{name}", mode, buffering=0):
                        said[f"{pid} {name} {mode}"] = "went through"
                except OSError as error:
                    said[f"{pid} {name} {mode}"] = errno.errorcode[error.errno]
    return said


def privileged_files():
    found = []
    for folder, _, names in os.walk("/"):
        if folder.startswith(("/proc", "/sys")):
            continue
        for name in names:
            try:
                mode = os.lstat(os.path.join(folder, name)).st_mode
            except OSError:
                continue
            if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
                found.append(os.path.join(folder, name))
    return found


def becomes_root():
    said = []
    for change in (os.setuid, os.setgid):
        try:
            change(0)
            said.append("went through")
        except OSError as error:
            said.append(errno.errorcode[error.errno])
    return said


def makes_device():
    try:
        os.mknod("/tmp/disk", 0o600 | stat.S_IFBLK, os.makedev(254, 0))
        return "went through"
    except OSError as error:
        return errno.errorcode[error.errno]


def runs_own_binary():
    Path("/tmp/program").write_bytes(Path("/bin/true").read_bytes())
    os.chmod("/tmp/program", 0o755)
    try:
        subprocess.run(["/tmp/program"], check=False)
        return "went through"
    except OSError as error:
        return errno.errorcode[error.errno]


def engine_sockets():
    places = ("docker.sock", "containerd/containerd.sock", "podman/podman.sock")
    return [place for place in places if os.path.exists(f"/run/{place}")]


def look_for(turned_mark):
    """Whether the mark is found in what this process can read: it never stands here itself."""
    text = [repr(dict(os.environ)), Path("/proc/self/mountinfo").read_text()]
    for folder in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ", "comm", "cgroup"):
            try:
                text.append((folder / name).read_text(errors="replace"))
            except OSError:
                continue
    text += [repr(thing) for thing in gc.get_objects() if type(thing) in (dict, list, tuple)]
    return turned_mark[::-1] in "\n".join(text)


def files():
    """Every file of the worker's own, and every file anywhere that is named like a problem's."""
    own, telling = [], []
    for folder, _, names in os.walk("/"):
        if folder.startswith(("/proc", "/sys")):
            continue
        for name in names:
            path = os.path.join(folder, name)
            if folder.startswith("/opt/harness/harness"):
                own.append(path)
            if name in ("wrong.toml", "problem.toml", "statement.md", "hints.md"):
                telling.append(path)
    return own, telling


def importable():
    from importlib.util import find_spec

    found = []
    for name in ("pip", "click", "junitparser", "docker", "harness.own_tests", "harness.authoring",
                 "harness.suite", "harness.judge", "harness.remote", "harness.sandbox",
                 "harness.problems", "graders", "solutions", "problems"):  # fmt: skip
        try:
            if find_spec(name):
                found.append(name)
        except ModuleNotFoundError:
            continue
    return found


def leave_mark():
    Path("/tmp/mark").write_text("here")
    Path("/dev/shm/mark").write_text("here")
    global KEPT
    KEPT = socket.socket(socket.AF_UNIX)
    KEPT.bind("\0mark")
    KEPT.listen()
    return True


def see_mark():
    said = [os.path.exists("/tmp/mark"), os.path.exists("/dev/shm/mark")]
    try:
        socket.socket(socket.AF_UNIX).connect("\0mark")
        return [*said, True]
    except OSError:
        return [*said, False]


def process_count():
    return sum(name.isdigit() for name in os.listdir("/proc"))
