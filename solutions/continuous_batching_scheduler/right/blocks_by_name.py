"""Hands out real block numbers from a free list; a prompt is admitted with what still fits.

The step is a plain tuple-like record, lines are deques of request objects, a finished request is
found by its own state rather than by its place.
"""

from collections import deque, namedtuple

Step = namedtuple("Step", ["scheduled", "preempted"])


class _Request:
    def __init__(self, name, prompt_len, max_new_tokens):
        self.name = name
        self.prompt_len = prompt_len
        self.max_new_tokens = max_new_tokens
        self.output_len = 0
        self.table = []
        self.in_cache = 0
        self.in_flight = 0

    def total(self):
        return self.prompt_len + self.output_len


class Scheduler:
    def __init__(self, *, max_num_seqs, token_budget, num_blocks, block_size):
        if any(size <= 0 for size in (max_num_seqs, token_budget, num_blocks, block_size)):
            raise ValueError("every size must be positive")
        self._max_num_seqs = max_num_seqs
        self._token_budget = token_budget
        self._block_size = block_size
        self._num_blocks = num_blocks
        self._free = list(range(num_blocks))
        self._run = deque()
        self._wait = deque()

    num_free_blocks = property(lambda self: len(self._free))
    running = property(lambda self: [request.name for request in self._run])
    waiting = property(lambda self: [request.name for request in self._wait])

    def add_request(self, request_id, prompt_len, max_new_tokens):
        if self._find(request_id) is not None:
            raise ValueError("duplicate id")
        if prompt_len < 1 or max_new_tokens < 1:
            raise ValueError("empty prompt or empty answer")
        last_slot = prompt_len + max_new_tokens - 2
        if last_slot // self._block_size >= self._num_blocks:
            raise ValueError("never fits")
        self._wait.append(_Request(request_id, prompt_len, max_new_tokens))

    def schedule(self):
        chosen, preempted = {}, []
        budget = self._token_budget
        queue = deque(self._run)
        while queue and budget > 0:
            request = queue.popleft()
            count = min(request.total() - request.in_cache, budget)
            alive = True
            while alive and not self._room(request, count):
                victim = self._run.pop()
                if victim is request:
                    alive = False
                else:
                    queue.pop()
                self._drop(victim)
                self._wait.appendleft(victim)
                preempted.append(victim.name)
            if alive:
                self._take(request, count)
                chosen[request.name] = count
                budget -= count
        while self._wait and not preempted and len(self._run) < self._max_num_seqs:
            request = self._wait[0]
            count = min(request.total(), budget, len(self._free) * self._block_size)
            if count == 0:
                break
            self._take(request, count)
            chosen[request.name] = count
            budget -= count
            self._run.append(self._wait.popleft())
        return Step(chosen, preempted)

    def update(self, stopped=()):
        for name in stopped:
            if self._find(name) is None:
                raise KeyError(name)
        done = set()
        for request in self._run:
            request.in_cache += request.in_flight
            request.in_flight = 0
            if request.in_cache < request.total():
                continue
            request.output_len += 1
            if request.name in stopped or request.output_len >= request.max_new_tokens:
                done.add(request.name)
        for request in [request for request in self._run if request.name in done]:
            self._run.remove(request)
            self._drop(request)
        return sorted(done)

    def abort(self, request_id):
        request = self._find(request_id)
        if request is None:
            raise KeyError(request_id)
        (self._run if request in self._run else self._wait).remove(request)
        self._drop(request)

    def _find(self, name):
        for request in (*self._run, *self._wait):
            if request.name == name:
                return request
        return None

    def _room(self, request, count):
        end = request.in_cache + count
        return end <= (len(request.table) + len(self._free)) * self._block_size

    def _take(self, request, count):
        request.in_flight = count
        while len(request.table) * self._block_size < request.in_cache + count:
            request.table.append(self._free.pop())

    def _drop(self, request):
        self._free.extend(request.table)
        request.table = []
        request.in_cache = request.in_flight = 0
