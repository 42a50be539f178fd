"""What the watch reports for kernels with one known fault each.

Triton decides at import whether it interprets, so the kernels run in one process of their own, with
the environment that a worker on the CPU has; the tests look at its reports.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

KERNELS = """
import json
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, size, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at * step, mask=at < size, other=0.0), mask=at < size)


@triton.jit
def add_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    tl.atomic_add(out_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, BLOCK)), axis=0))


@triton.jit
def read_before_kernel(x_ptr, out_ptr):
    tl.store(out_ptr + tl.program_id(0), tl.load(x_ptr - 1))


@triton.jit
def left_out_lanes_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < 2))


@triton.jit
def far_kernel(x_ptr, out_ptr):
    tl.store(out_ptr + 1000000000000, tl.load(x_ptr))


@triton.jit
def previous_kernel(out_ptr):
    i = tl.program_id(0)
    tl.store(out_ptr + i + 1, tl.load(out_ptr + i) + 1)


@triton.jit
def address_kernel(address, out_ptr, reach: tl.constexpr):
    x_ptr = address.to(tl.pointer_type(tl.float32))
    tl.store(out_ptr, tl.load(x_ptr + reach))


@triton.jit
def broken_kernel(x_ptr):
    tl.static_assert(False, "not today")


def copy(x, size, step=1, blocks=1, out=None):
    out = torch.empty(4) if out is None else out
    copy_kernel[(blocks,)](x, out, size, step, BLOCK=4)
    return out


def previous(x):
    counts = torch.zeros_like(x)
    previous_kernel[(3,)](counts)
    return counts


def launch(kernel, *args, grid=(1,), **meta):
    kernel[grid](*args, **meta)
    return args[-1]


CASES = {
    "right": lambda x: copy(x, 4),
    "no values": lambda x: copy(x, 0),
    "one past the input": lambda x: copy(x, 5, blocks=2, out=torch.empty(5)),
    "one past the output": lambda x: copy(x, 4, out=torch.empty(3)),
    "one before the input": lambda x: launch(read_before_kernel, x, torch.empty(1)),
    "far away": lambda x: launch(far_kernel, x, torch.empty(1)),
    "half precision": lambda x: copy(x.to(torch.float16), 4, out=torch.empty(2).half()),
    "atomics": lambda x: launch(add_kernel, x, torch.zeros(1), grid=(3,), BLOCK=4),
    "reads its neighbour's write": previous,
    "left-out lanes": lambda x: launch(left_out_lanes_kernel, x, torch.empty(4), BLOCK=4),
    "torch computes": lambda x: torch.softmax(x, 0),
    "numpy computes": lambda x: torch.from_numpy(x.numpy() * 2),
    "unwritten": lambda x: torch.empty(3),
    "by address": lambda x: launch(address_kernel, x.data_ptr(), torch.empty(1), reach=3),
    "past an address": lambda x: launch(address_kernel, x.data_ptr(), torch.empty(1), reach=4),
    "raises": lambda x: launch(broken_kernel, x),
}


def reports():
    from harness.worker.triton_watch import probe, watch

    yield "probe", {"not_checked": probe(), "result": None}
    for name, case in CASES.items():
        result = None
        x = torch.arange(4.0)
        with watch([x]) as report:
            try:
                result = case(x)
            except Exception as error:
                result = torch.empty(0)
        result = None if result is None else [repr(v) for v in result.tolist()]
        yield name, {**report.facts(), "result": result}
    wide = torch.arange(12.0).reshape(3, 4)
    for name, x, step in (("a slice", wide[:, 1], 4), ("the gaps of a slice", wide[:, 1], 1)):
        with watch([x]) as report:
            copy(x, 3, step)
        yield name, {**report.facts(), "result": None}


json.dump(dict(reports()), sys.stdout)
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The facts of every case, by its name."""
    script = tmp_path_factory.mktemp("kernels") / "kernels.py"
    script.write_text(KERNELS)
    root = str(Path(__file__).parents[1])
    environment = {
        **os.environ,
        "TRITON_INTERPRET": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": root,
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def outside(report):
    """The out-of-bounds findings, without where in the file they are."""
    keys = ("kernel", "arg", "access", "offset", "size", "lanes", "program")
    return [tuple(found[key] for key in keys) for found in report["out_of_bounds"]]


def ops(report):
    return [(seen["op"], seen["count"]) for seen in report["torch_ops"]]


def test_every_hook_works_on_the_pinned_triton(reports):
    assert reports["probe"]["not_checked"] == {}


def test_a_right_kernel_has_no_finding(reports):
    right = reports["right"]
    assert right["result"] == ["0.0", "1.0", "2.0", "3.0"]
    assert right["launches"] == [{"kernel": "copy_kernel", "grid": [1, 1, 1]}]
    assert right["num_launches"] == 1
    assert ops(right) == [("aten.empty", 1)]
    assert right["out_of_bounds"] == right["races"] == right["broken_guards"] == []
    assert right["not_checked"] == {}


def test_masked_lanes_touch_nothing(reports):
    assert outside(reports["no values"]) == []


@pytest.mark.parametrize(
    ("case", "finding"),
    [
        ("one past the input", ("copy_kernel", "x_ptr", "load", 16, 16, 1, [1, 0, 0])),
        ("one past the output", ("copy_kernel", "out_ptr", "store", 12, 12, 1, [0, 0, 0])),
        ("one before the input", ("read_before_kernel", "x_ptr", "load", -4, 16, 1, [0, 0, 0])),
        ("half precision", ("copy_kernel", "out_ptr", "store", 4, 4, 2, [0, 0, 0])),
        ("the gaps of a slice", ("copy_kernel", "x_ptr", "load", 4, 36, 2, [0, 0, 0])),
    ],
)
def test_an_access_outside_names_argument_and_offset(reports, case, finding):
    assert outside(reports[case]) == [finding]
    assert reports[case]["races"] == []


def test_a_far_write_is_reported_and_does_not_crash(reports):
    [found] = reports["far away"]["out_of_bounds"]
    assert (found["access"], found["lanes"]) == ("store", 1)
    assert reports["far away"]["num_out_of_bounds"] == 1


def test_a_finding_names_the_line_in_the_kernel(reports):
    [found] = reports["one before the input"]["out_of_bounds"]
    assert "tl.load(x_ptr - 1)" in KERNELS.splitlines()[found["line"] - 1]


def test_the_elements_of_a_slice_are_inside(reports):
    assert outside(reports["a slice"]) == []


def test_a_tensor_found_by_its_address_is_inside(reports):
    assert reports["by address"]["result"] == ["3.0"]
    assert outside(reports["by address"]) == []
    assert reports["past an address"]["num_out_of_bounds"] == 1


def test_a_dropped_write_leaves_the_guards_whole(reports):
    assert reports["one past the output"]["broken_guards"] == []


def test_atomics_at_one_address_are_no_race(reports):
    assert reports["atomics"]["num_races"] == 0


def test_reading_what_another_program_writes_is_a_race(reports):
    report = reports["reads its neighbour's write"]
    assert report["num_races"] == 2
    first = report["races"][0]
    assert {first["access"], first["other_access"]} == {"load", "store"}
    assert first["arg"] == "out_ptr"
    assert first["program"] != first["other_program"]


def test_programs_do_not_run_in_the_order_of_the_grid(reports):
    in_grid_order = ["0.0", "1.0", "2.0", "3.0"]
    assert reports["reads its neighbour's write"]["result"] != in_grid_order


def test_lanes_left_out_without_other_are_not_zero(reports):
    assert reports["left-out lanes"]["result"] == ["0.0", "1.0", "nan", "nan"]


def test_what_torch_computes_is_named(reports):
    assert ("aten._softmax", 1) in ops(reports["torch computes"])
    assert reports["torch computes"]["num_launches"] == 0


def test_values_that_leave_torch_are_named(reports):
    assert ("Tensor.numpy", 1) in ops(reports["numpy computes"])


def test_fresh_memory_is_not_zero(reports):
    assert reports["unwritten"]["result"] == ["nan", "nan", "nan"]


def test_a_kernel_that_raises_is_still_reported(reports):
    assert reports["raises"]["num_launches"] == 1
    assert reports["raises"]["result"] == []
