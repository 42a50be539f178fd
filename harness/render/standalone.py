"""A finding's smallest case as a Python file that needs nothing but the candidate's own."""

from __future__ import annotations

import textwrap

from harness.journal import Case

HEAD = '''"""The smallest case of {check}.

{words}

Exits 1 while the calls go as they went when the check broke, 0 when they go another way.
"""

import importlib.util
import os
import sys
from math import inf, nan

os.environ.setdefault("TRITON_INTERPRET", "1")  # kernels on the CPU; set it to 0 on a GPU

{imports}spec = importlib.util.spec_from_file_location({name!r}, {file!r})
module = importlib.util.module_from_spec(spec)
sys.modules[{name!r}] = module
spec.loader.exec_module(module)
names = {{key: value for key, value in vars(module).items() if not key.startswith("__")}}
globals().update(names)
another_way = []


def plain(value):
    """Tensors as lists, floats to six digits, so that a rounded record equals its value."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return f"{{value:.6g}}" if isinstance(value, float) else repr(value)


def same(value, recorded):
    """Whether a value is the recorded one; what the record cut short or only names is the same."""
    if recorded is None or "... (" in recorded:
        return True
    try:
        return plain(eval(recorded)) == plain(value)
    except (SyntaxError, NameError):
        return True


def is_expression(text):
    """Whether a line has a value; a loop has none."""
    try:
        compile(text, "line", "eval")
    except SyntaxError:
        return False
    return True


def call(line, recorded, error):
    """Make one call, say what it gives, and note when that is not what was recorded."""
    target, _, expression = line.rpartition(" = ") if line[1:4] == " = " else ("", "", line)
    try:
        value = eval(expression) if is_expression(expression) else exec(line, globals())
    except Exception as raised:
        print(f"{{line}}  # raises {{type(raised).__name__}}: {{raised}}")
        if type(raised).__name__ != error:
            another_way.append(line)
        return
    print(f"{{line}}" + ("" if recorded is None else f"  # -> {{value!r}}"))
    if target:
        globals()[target] = value
    if error or not same(value, recorded):
        another_way.append(line)


'''
TAIL = """
if another_way:
    print("these calls go another way now:", *another_way, sep="\\n  ")
    sys.exit(0)
sys.exit("as it was when the check broke")
"""


def standalone(case: Case, name: str, file: str) -> str:
    """The file's text. `file` is the path of the candidate's file, `name` its module's name."""
    words = textwrap.fill(f"wanted {case.wanted}; got {case.got}", 90).replace('"""', "'''")
    imports = "import torch\n\n" if any("torch." in line for line in case.script) else ""
    head = HEAD.format(
        check=case.check, words=words.replace("\\", "\\\\"), imports=imports, name=name, file=file
    )
    return head + "".join(_call(line) for line in case.script) + TAIL


def _call(line: str) -> str:
    expression, arrow, outcome = line.partition("  # ")
    recorded = outcome.removeprefix("-> ") if arrow and outcome.startswith("-> ") else None
    error = outcome.removeprefix("raises ") if outcome.startswith("raises ") else ""
    return f"call({expression!r}, {recorded!r}, {error!r})\n"
