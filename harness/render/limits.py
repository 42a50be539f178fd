"""The limits of a run, in words."""

from __future__ import annotations

WORDS = {
    "call_s": "a call",
    "run_s": "in all",
    "memory_bytes": "of memory",
    "output_bytes": "of output",
}
MIB = 2**20


def in_words(limits: dict[str, float]) -> str:
    """As `10 s a call, 60 s in all, 2,048 MiB of memory, 4 MiB of output`."""
    known = (name for name in WORDS if name in limits)
    return ", ".join(f"{_amount(name, limits[name])} {WORDS[name]}" for name in known)


def _amount(name: str, value: float) -> str:
    return f"{value / MIB:,.0f} MiB" if name.endswith("_bytes") else f"{value:,.3g} s"
