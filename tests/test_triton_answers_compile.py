"""Every kernel of a right Triton answer compiles for a GPU, which needs none to be there.

Triton's interpreter takes kernels that its compiler refuses (a Python object in a loop, a type that
changes): a reference that only the interpreter accepts would be found out on somebody's GPU.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.problems import all_problems, default_pack

pytest.importorskip("triton")

COMPILE = '''
import importlib.util
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction, mangle_type

compiled = set()


def run(self, *args, grid, warmup=False, **kwargs):
    """Compile for the launch instead of launching."""
    names = [p.name for p in self.params]
    given = dict(zip(names, args)) | {k: v for k, v in kwargs.items() if k in names}
    if callable(grid):
        grid(given)
    signature, constants = {}, {}
    for p in self.params:
        value = given[p.name]
        fixed = p.is_constexpr or (type(value) is int and value == 1)
        signature[p.name] = "constexpr" if fixed else mangle_type(value)
        if fixed:
            constants[p.name] = value
    key = (self.fn.__module__, self.fn.__name__, str(signature))
    if key not in compiled:
        compiled.add(key)
        options = {k: v for k, v in kwargs.items() if k not in names}
        source = ASTSource(self, signature, constants)
        triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)


def load(path):
    spec = importlib.util.spec_from_file_location(path.replace("/", "_")[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


JITFunction.run = run
timing, *answers = sys.argv[1:]
cases = load(timing)
for answer in answers:
    function, before = getattr(load(answer), cases.FUNCTION), len(compiled)
    for _, arguments, _ in cases.cases("meta"):
        function(*arguments)
    assert len(compiled) > before, f"{answer} launched no kernel"
'''

TIMED = [
    problem
    for problem in all_problems(default_pack())
    if "triton" in problem.needs and problem.reference.with_name("timing.py").is_file()
]


@pytest.mark.parametrize("problem", TIMED, ids=lambda problem: problem.slug)
def test_right_kernels_compile_for_a_gpu(problem, tmp_path):
    script = tmp_path / "compile_all.py"
    script.write_text(COMPILE)
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, script, problem.reference.with_name("timing.py"),
         problem.reference, *problem.right],
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
