"""Reading one result, from `harness check --json` or from the folder of a round."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from harness.batch.store import Stored, stored_in
from harness.results import WrongVersion, from_json

MOST_BYTES = 64 * 1024 * 1024


def read_result(name: str) -> Stored:
    """The result in a file; `candidate` is empty when the file does not say whose it is."""
    path = Path(name)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise click.UsageError(f"{name} has more than {MOST_BYTES:,} bytes\n  it is no result")
        return _result_in(path.read_bytes())
    except OSError as error:
        raise click.UsageError(
            f"{name} cannot be read: {error.strerror}\n  harness check SLUG --json {name} writes it"
        ) from None
    except WrongVersion as error:
        raise click.UsageError(
            f"{name} is no result that can be shown: {error}\n"
            f"  harness check SLUG --json {name} writes one"
        ) from None


def _result_in(raw: bytes) -> Stored:
    try:
        of_a_round = "result" in msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        of_a_round = False
    if of_a_round:
        return stored_in(raw)
    result = from_json(raw)
    return Stored("", "", result.submission.path, result)
