"""Continuous batching scheduler: fill in the methods; keep the names."""

from collections.abc import Collection
from typing import NamedTuple


class Step(NamedTuple):
    """What the engine does now."""

    scheduled: dict[str, int]
    """Tokens to compute in this step, by request id; every number at least 1."""
    preempted: list[str]
    """Requests that went from running back to waiting in this step."""


class Scheduler:
    """Chooses, step by step, which requests compute how many tokens.

    Readable at any moment, as attributes or properties:
    `num_free_blocks: int`, `running: list[str]`, `waiting: list[str]`.
    """

    def __init__(
        self, *, max_num_seqs: int, token_budget: int, num_blocks: int, block_size: int
    ) -> None:
        """ValueError where one of the four is below 1."""
        raise NotImplementedError

    def add_request(self, request_id: str, prompt_len: int, max_new_tokens: int) -> None:
        """Put a request at the end of the waiting line.

        ValueError for an id that is alive, a number below 1, a request that can never fit.
        """
        raise NotImplementedError

    def schedule(self) -> Step:
        """Plan one step: running requests first, then admissions."""
        raise NotImplementedError

    def update(self, stopped: Collection[str] = ()) -> list[str]:
        """Count the step that `schedule` planned as computed; return the ids that finished.

        `stopped` names requests whose token, sampled in this step, ends them.
        KeyError for an unknown id.
        """
        raise NotImplementedError

    def abort(self, request_id: str) -> None:
        """Forget a request, wherever it is. KeyError for an unknown id."""
        raise NotImplementedError
