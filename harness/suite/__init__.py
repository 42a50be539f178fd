"""What a suite imports: claims, the candidate, and ways to say what was wanted and got."""

from harness.suite.calls import Broke, Raised
from harness.suite.candidate import Candidate, Program, Reply
from harness.suite.claims import behaviour, cost, edge, invariant
from harness.suite.expect import equal, holds, refused, whole_numbers
from harness.suite.work import cpu_ns, stays_level

__all__ = [
    "Broke",
    "Candidate",
    "Program",
    "Raised",
    "Reply",
    "behaviour",
    "cost",
    "cpu_ns",
    "edge",
    "equal",
    "holds",
    "invariant",
    "refused",
    "stays_level",
    "whole_numbers",
]
