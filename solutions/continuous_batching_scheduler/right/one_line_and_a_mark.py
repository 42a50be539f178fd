"""One line of requests in order of arrival and a mark: those before it run, the rest wait.

Preempting moves the mark back, admitting moves it on. Blocks held are never stored but counted
from the tokens. A prompt is admitted only when the free blocks hold all of it.
"""

import dataclasses
import itertools


@dataclasses.dataclass(frozen=True)
class Step:
    scheduled: dict
    preempted: list


class Sequence:
    def __init__(self, prompt_len, max_new_tokens):
        self.known = prompt_len
        self.end = prompt_len + max_new_tokens
        self.computed = 0
        self.planned = 0


class Scheduler:
    def __init__(self, *, max_num_seqs, token_budget, num_blocks, block_size):
        for name, value in (
            ("max_num_seqs", max_num_seqs),
            ("token_budget", token_budget),
            ("num_blocks", num_blocks),
            ("block_size", block_size),
        ):
            if value < 1:
                raise ValueError(f"{name} is {value}; it must be at least 1")
        self._slots = max_num_seqs
        self._budget = token_budget
        self._pool = num_blocks
        self._block_size = block_size
        self._line = {}  # insertion order is order of arrival
        self._mark = 0

    @property
    def running(self):
        return list(itertools.islice(self._line, self._mark))

    @property
    def waiting(self):
        return list(itertools.islice(self._line, self._mark, None))

    @property
    def num_free_blocks(self):
        return self._pool - sum(self._held(sequence) for sequence in self._line.values())

    def add_request(self, request_id, prompt_len, max_new_tokens):
        if request_id in self._line:
            raise ValueError(f"{request_id} is alive")
        if prompt_len < 1 or max_new_tokens < 1:
            raise ValueError("at least one token each way")
        if prompt_len + max_new_tokens - 1 > self._pool * self._block_size:
            raise ValueError(f"{request_id} is larger than the pool")
        self._line[request_id] = Sequence(prompt_len, max_new_tokens)

    def schedule(self):
        before = self._mark
        left = self._budget
        place = 0
        while place < self._mark and left:
            sequence = self._at(place)
            sequence.planned = min(sequence.known - sequence.computed, left)
            while self.num_free_blocks < 0:  # drop from the end until the pool holds what is left
                self._mark -= 1
                last = self._at(self._mark)
                last.computed = last.planned = 0
            left -= sequence.planned
            place += 1
        preempted = list(self._line)[self._mark : before]
        if not preempted:
            self._admit(left)
        planned = {name: sequence.planned for name, sequence in self._line.items()}
        return Step({name: tokens for name, tokens in planned.items() if tokens}, preempted)

    def update(self, stopped=()):
        unknown = set(stopped) - set(self._line)
        if unknown:
            raise KeyError(*unknown)
        sampling = []
        for name, sequence in self._line.items():
            sequence.computed += sequence.planned
            sequence.planned = 0
            if sequence.computed == sequence.known:
                sequence.known += 1
                sampling.append(name)
        ended = [
            name
            for name in sampling
            if name in stopped or self._line[name].known == self._line[name].end
        ]
        for name in ended:
            self.abort(name)
        return ended

    def abort(self, request_id):
        place = list(self._line).index(request_id) if request_id in self._line else -1
        if place < 0:
            raise KeyError(request_id)
        del self._line[request_id]
        if place < self._mark:
            self._mark -= 1

    def _admit(self, left):
        while self._mark < min(self._slots, len(self._line)) and left:
            sequence = self._at(self._mark)
            if self._blocks(sequence.known) > self.num_free_blocks:
                return
            sequence.planned = min(sequence.known, left)
            left -= sequence.planned
            self._mark += 1

    def _at(self, place):
        return next(itertools.islice(self._line.values(), place, None))

    def _blocks(self, tokens):
        return (tokens + self._block_size - 1) // self._block_size

    def _held(self, sequence):
        return self._blocks(sequence.computed + sequence.planned)
