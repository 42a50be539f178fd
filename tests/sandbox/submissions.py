"""Small submissions, each with one fault. `ok` answers 1 in all of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from textwrap import dedent

from harness.remote.faults import Kind

LEFTOVER = f"hx-{os.getpid()}"  # the name of processes that a submission leaves behind
PRELUDE = """
import ctypes, os, signal, stat, struct, sys, threading, time

def ok():
    return 1

def stream():
    "The descriptor this process answers on: whoever looks finds it."
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                return fd
        except OSError:
            pass

def send(message, channel=1, blobs=()):
    from harness.border.frames import frame
    from harness.border.messages import encode
    for piece in frame(channel, encode(message), list(blobs)):
        os.write(stream(), piece)

def asked():
    "The program being run, found in the caller's frames."
    frame = sys._getframe()
    while not hasattr(frame.f_locals.get("message"), "steps"):
        frame = frame.f_back
    return frame.f_locals["message"]

def name_process():
    ctypes.CDLL(None).prctl(15, LEFTOVER, 0, 0, 0)
"""
PRELUDE += f"\nLEFTOVER = {LEFTOVER.encode()}\n"


@dataclass(frozen=True)
class Case:
    """One fault: the body of `f`, or of the module, and what has to be said of it."""

    name: str
    body: str
    kinds: tuple[object, ...]
    words: str = ""  # a pattern that the report's words match
    at_import: bool = False
    memory_mib: int = 512
    before: str = ""  # the body of `first`, called before `f`
    backends: tuple[str, ...] = ("local", "local-plain", "docker")
    limit_s: float = 1.0  # longer where the body takes its time

    def source(self) -> bytes:
        body = dedent(self.body).strip()
        if self.at_import:
            return f"{PRELUDE}\n{body}\n".encode()
        functions = [("f", "*args", body)]
        if self.before:
            functions.append(("first", "", dedent(self.before).strip()))
        text = PRELUDE
        for name, parameters, lines in functions:
            inner = lines.replace("\n", "\n    ")
            text += f"\ndef {name}({parameters}):\n    {inner}\n"
        return text.encode()

    def __str__(self) -> str:
        return self.name


RAISED = Kind.RAISED  # an exception of the candidate's own: an answer like any other
CRASHED, HUNG, PROTOCOL = Kind.CRASHED, Kind.HUNG, Kind.PROTOCOL
MEMORY, FLOODED, NOT_IMPORTABLE = Kind.OUT_OF_MEMORY, Kind.FLOODED, Kind.NOT_IMPORTABLE

CASES = [
    # exits
    Case("exits-in-a-call", "os._exit(0)", (CRASHED,), "exited with status 0"),
    Case("sys-exit-in-a-call", "sys.exit(0)", (RAISED,), "SystemExit"),
    Case("exits-at-import", "os._exit(0)", (CRASHED,), "status 0 while it was imported",
         at_import=True),
    Case("sys-exit-at-import", "sys.exit(0)", (NOT_IMPORTABLE,), "SystemExit", at_import=True),
    Case("raises-at-import", "1 / 0", (NOT_IMPORTABLE,), "ZeroDivisionError.*line", at_import=True),
    Case("does-not-parse", "def (", (NOT_IMPORTABLE,), "SyntaxError", at_import=True),
    Case("prints-success-and-exits", "print('1 passed', flush=True)\nos._exit(0)", (CRASHED,),
         "exited with status 0"),
    Case("exit-status-137", "os._exit(137)", (CRASHED,), "exited with status 137"),
    # signals
    Case("kills-itself", "os.kill(os.getpid(), 9)", (CRASHED,), "signal 9"),
    Case("segfault", "ctypes.string_at(0)", (CRASHED,), "signal 11"),
    Case("abort", "os.abort()", (CRASHED,), "signal 6"),
    Case("terminates-itself", "os.kill(os.getpid(), 15)\ntime.sleep(60)", (CRASHED,), "signal 15"),
    Case("kills-its-parent", "os.kill(os.getppid(), 9)\ntime.sleep(60)", (CRASHED, HUNG)),
    Case("terminates-its-parent", "os.kill(os.getppid(), 15)\ntime.sleep(60)", (CRASHED, HUNG)),
    Case("terminates-process-one", "os.kill(1, 15)\ntime.sleep(60)", (CRASHED,),
         "whole sandbox", backends=("docker",)),
    Case("stops-itself", "os.kill(os.getpid(), signal.SIGSTOP)", (HUNG,)),
    Case("stops-its-parent", "os.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(60)", (HUNG,)),
    # memory
    Case("one-huge-allocation", "return len(bytearray(1 << 36))", (MEMORY,)),
    Case("memory-by-and-by", "kept = []\nwhile True:\n    kept.append(bytearray(1 << 20))",
         (MEMORY,), limit_s=5.0),
    Case("unbounded-recursion", """
         sys.setrecursionlimit(1 << 30)
         def deeper(): return deeper()
         deeper()""", (MEMORY, CRASHED, RAISED), memory_mib=32, limit_s=10),
    Case("memory-of-forked-children", """
         for _ in range(4):
             if os.fork() == 0:
                 kept = bytearray(200 << 20)
                 kept[::4096] = b"x" * len(kept[::4096])
                 time.sleep(0.3)
                 os._exit(0)
         for _ in range(4):
             os.wait()
         return 1""", (1,), memory_mib=256, limit_s=10),
    # time
    Case("endless-loop", "while True: pass", (HUNG,), "no answer within"),
    Case("endless-import", "while True: pass", (HUNG,), "while it was imported", at_import=True),
    Case("closes-its-output", "os.close(1)\nos.close(2)\nwhile True: time.sleep(1)", (HUNG,)),
    Case("closes-everything", "os.closerange(0, 256)\nwhile True: time.sleep(1)", (PROTOCOL,),
         "closed its stream"),
    Case("a-byte-now-and-then", """
         while True:
             os.write(stream(), b"\\x01")
             time.sleep(0.3)""", (HUNG, PROTOCOL)),
    # processes and threads
    Case("forks-and-forks", """
         for _ in range(300):
             try:
                 if os.fork() == 0:
                     name_process()
                     time.sleep(60)
                     os._exit(0)
             except OSError:
                 break
         time.sleep(60)""", (HUNG,)),
    Case("daemon-left-behind", """
         if os.fork() == 0:
             os.setsid()
             if os.fork() == 0:
                 name_process()
                 os.closerange(0, 256)
                 time.sleep(60)
             os._exit(0)
         time.sleep(0.2)
         os._exit(0)""", (CRASHED,), "status 0"),
    Case("daemon-beside-a-right-answer", """
         if os.fork() == 0:
             os.setsid()
             if os.fork() == 0:
                 name_process()
                 time.sleep(60)
             os._exit(0)
         os.wait()
         return 1""", (1,)),
    Case("many-threads", """
         for _ in range(600):
             threading.Thread(target=time.sleep, args=(2,), daemon=True).start()
         return 1""", (RAISED, 1, MEMORY)),
    # output
    Case("prints-without-end", "while True: print('x' * 1000)", (FLOODED,), "more than its limit"),
    Case("floods-its-descriptor", "while True: os.write(1, b'x' * 65536)", (FLOODED,)),
    Case("floods-its-stream", "while True: os.write(stream(), b'x' * 65536)", (PROTOCOL,)),
    Case("floods-its-stream-with-frames", """
         from harness.border.messages import Trace
         while True:
             send(Trace(1, []), blobs=[bytes(1 << 20)])""", (PROTOCOL, HUNG)),
    # frames
    Case("claims-four-gibibytes", "os.write(stream(), struct.pack('<BIQ', 1, 0xFFFFFFFF, 1 << 40))"
         "\ntime.sleep(60)", (PROTOCOL,), "a header of"),
    Case("claims-a-huge-tensor", "os.write(stream(), struct.pack('<BIQ', 1, 8, 1 << 40))"
         "\ntime.sleep(60)", (PROTOCOL,), "bytes of tensors"),
    Case("garbage", "os.write(stream(), bytes(range(1, 250)))\ntime.sleep(60)", (PROTOCOL,)),
    Case("not-msgpack", "os.write(stream(), struct.pack('<BIQ', 1, 8, 0) + b'\\xc1' * 8)"
         "\ntime.sleep(60)", (PROTOCOL,), "not a message"),
    Case("nested-too-deep", "body = b'\\x91' * 100000 + b'\\xc0'\n"
         "os.write(stream(), struct.pack('<BIQ', 1, len(body), 0) + body)\ntime.sleep(60)",
         (PROTOCOL,), "not a message"),
    Case("answers-another-question", """
         from harness.border.messages import Trace
         send(Trace(asked().id + 1, []))
         time.sleep(60)""", (PROTOCOL,), "another question"),
    Case("answers-another-call", """
         from harness.border.messages import Returned, Trace
         send(Trace(asked().id, [Returned(asked().steps[0].id + 1, 1)]))
         time.sleep(60)""", (PROTOCOL,), "other calls"),
    Case("answers-too-often", """
         from harness.border.messages import Returned, Trace
         reply = Returned(asked().steps[0].id, 1)
         send(Trace(asked().id, [reply, reply]))
         time.sleep(60)""", (PROTOCOL,), "other calls"),
    Case("an-answer-nobody-asked-for", "return 1", (PROTOCOL,), "another question", before="""
         from harness.border.messages import Trace
         number = asked().id
         def later():
             time.sleep(0.1)
             send(Trace(number, []))
         threading.Thread(target=later).start()
         return 1"""),
    Case("says-loaded", """
         from harness.border.messages import Loaded
         send(Loaded(["f"]))
         time.sleep(60)""", (PROTOCOL,), "another question"),
    Case("speaks-for-its-parent", """
         from harness.border.messages import Used
         send(Used(0, 0), channel=0)
         time.sleep(60)""", (PROTOCOL,), "another reader"),
    Case("a-key-twice", """
         from harness.border.messages import Returned, Trace
         twice = {"dict": [[1, 1], [1, 2]]}
         send(Trace(asked().id, [Returned(asked().steps[0].id, twice)]))
         time.sleep(60)""", (PROTOCOL,), "stands twice"),
    Case("a-tensor-outside-its-bytes", """
         from harness.border.messages import Returned, Trace
         tensor = {"tensor": ["float32", [4], [], 0, 0, 16, "cpu"]}
         send(Trace(asked().id, [Returned(asked().steps[0].id, tensor)]))
         time.sleep(60)""", (PROTOCOL,), "outside the bytes"),
    Case("part-of-a-frame-then-death", "os.write(stream(), b'\\x01\\x10\\x00')\nos.abort()",
         (CRASHED,), "signal 6"),
    # files
    Case("fills-its-disk", """
         try:
             with open("big", "wb") as file:
                 while True:
                     file.write(bytes(1 << 20))
         except OSError:
             return 1""", (1,)),
    Case("makes-many-files", """
         try:
             for number in range(20000):
                 open(f"file{number}", "w").close()
         except OSError:
             pass
         return 1""", (1,), limit_s=10),
    Case("opens-many-files", """
         kept = []
         while True:
             kept.append(open(os.devnull))""", (RAISED,), "Too many open files"),
    Case("removes-its-own-folder", """
         import shutil
         shutil.rmtree(os.getcwd())
         return 1""", (1,)),
    # answers that are no values
    Case("an-object-equal-to-everything", """
         class Anything:
             __eq__ = lambda self, other: True
             __hash__ = None
         return Anything()""", ("object",)),
    Case("a-number-that-lies", """
         class Liar(int):
             __eq__ = lambda self, other: True
             __hash__ = int.__hash__
         return Liar(3)""", (3,)),
    Case("an-endless-value", "value = []\nvalue.append(value)\nreturn value", ("opaque",)),
    Case("an-exception-that-cannot-be-read", """
         class Bad(Exception):
             def __str__(self): os._exit(0)
         raise Bad()""", (CRASHED,)),
]  # fmt: skip
