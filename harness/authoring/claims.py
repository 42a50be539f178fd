"""The claims of a suite, read by importing it; nothing is graded."""

from __future__ import annotations

import importlib.util
import sys

from harness.problems import BadPack, Problem
from harness.suite.claims import ATTRIBUTE, Claim


def claims_of(problem: Problem) -> list[Claim]:
    """Every claim of a problem's suite, in its order."""
    name = f"harness_suite_{problem.slug}"
    spec = importlib.util.spec_from_file_location(name, problem.suite)
    if spec is None or spec.loader is None or not problem.suite.is_file():
        raise BadPack(f"{problem.slug} has no suite: {problem.suite} is missing")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    found = [getattr(value, ATTRIBUTE, None) for value in vars(module).values()]
    return [claim for claim in found if isinstance(claim, Claim)]
