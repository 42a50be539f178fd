"""Continuous batching with chunked prompts and preemption by recomputation.

Running requests are always the earliest arrivals alive: admission takes the head of the line,
preemption gives back the last. So both lists stay in order of arrival without sorting, and the
victim is never a request that the step has already served.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple


class Step(NamedTuple):
    scheduled: dict[str, int]
    preempted: list[str]


@dataclass(slots=True)
class Request:
    prompt_len: int
    max_new_tokens: int
    sampled: int = 0
    computed: int = 0
    scheduled: int = 0  # in the step between schedule() and update()
    blocks: int = 0

    @property
    def missing(self) -> int:
        """Known tokens that are still to be computed."""
        return self.prompt_len + self.sampled - self.computed


class Scheduler:
    def __init__(
        self, *, max_num_seqs: int, token_budget: int, num_blocks: int, block_size: int
    ) -> None:
        if min(max_num_seqs, token_budget, num_blocks, block_size) < 1:
            raise ValueError("slots, budget, blocks and block size must each be at least 1")
        self.max_num_seqs = max_num_seqs
        self.token_budget = token_budget
        self.block_size = block_size
        self.num_blocks = num_blocks
        self.num_free_blocks = num_blocks
        self.running: list[str] = []
        self.waiting: list[str] = []
        self.requests: dict[str, Request] = {}

    def add_request(self, request_id: str, prompt_len: int, max_new_tokens: int) -> None:
        if request_id in self.requests:
            raise ValueError(f"request {request_id!r} is still alive")
        if prompt_len < 1 or max_new_tokens < 1:
            raise ValueError("a request has at least 1 prompt token and 1 new token")
        most_tokens = prompt_len + max_new_tokens - 1  # the last one sampled is never computed
        if self._blocks_for(most_tokens) > self.num_blocks:
            raise ValueError(f"{most_tokens} tokens can never fit")
        self.requests[request_id] = Request(prompt_len, max_new_tokens)
        self.waiting.append(request_id)

    def schedule(self) -> Step:
        step = Step({}, [])
        budget = self.token_budget - self._serve_running(step)
        if not step.preempted:
            self._admit(step, budget)
        return step

    def update(self, stopped: Collection[str] = ()) -> list[str]:
        for request_id in stopped:
            if request_id not in self.requests:
                raise KeyError(request_id)
        finished = []
        for request_id in self.running:
            request = self.requests[request_id]
            request.computed += request.scheduled
            request.scheduled = 0
            if request.missing == 0:
                request.sampled += 1
                if request.sampled == request.max_new_tokens or request_id in stopped:
                    finished.append(request_id)
        for request_id in finished:
            self.abort(request_id)
        return finished

    def abort(self, request_id: str) -> None:
        request = self.requests.pop(request_id)
        self.num_free_blocks += request.blocks
        line = self.running if request_id in self.running else self.waiting
        line.remove(request_id)

    def _serve_running(self, step: Step) -> int:
        """Give each running request its tokens; return how many were given."""
        given = 0
        for request_id in list(self.running):
            tokens = min(self.requests[request_id].missing, self.token_budget - given)
            if tokens == 0 or request_id not in self.running:
                break  # no budget for whoever follows, or all of them were preempted
            while request_id in self.running and self._blocks_short(request_id, tokens) > 0:
                step.preempted.append(self._preempt_last())
            if request_id in self.running:
                self._grant(step, request_id, tokens)
                given += tokens
        return given

    def _admit(self, step: Step, budget: int) -> None:
        """Move the head of the line to running while slots, budget and blocks allow."""
        while self.waiting and budget > 0 and len(self.running) < self.max_num_seqs:
            request_id = self.waiting[0]
            tokens = min(self.requests[request_id].missing, budget)
            if self._blocks_short(request_id, tokens) > 0:
                break  # nobody behind may overtake
            self.running.append(self.waiting.pop(0))
            self._grant(step, request_id, tokens)
            budget -= tokens

    def _grant(self, step: Step, request_id: str, tokens: int) -> None:
        request = self.requests[request_id]
        request.scheduled = step.scheduled[request_id] = tokens
        blocks = self._blocks_for(request.computed + tokens)
        self.num_free_blocks -= blocks - request.blocks
        request.blocks = blocks

    def _preempt_last(self) -> str:
        """Send the last arrival back to the head of the line; what it sampled stays known."""
        request_id = self.running.pop()
        request = self.requests[request_id]
        self.num_free_blocks += request.blocks
        request.blocks = request.computed = 0
        self.waiting.insert(0, request_id)
        return request_id

    def _blocks_short(self, request_id: str, tokens: int) -> int:
        """How many more free blocks it would take to compute `tokens` more; below 1: none."""
        request = self.requests[request_id]
        return self._blocks_for(request.computed + tokens) - request.blocks - self.num_free_blocks

    def _blocks_for(self, tokens: int) -> int:
        return -(-tokens // self.block_size)
