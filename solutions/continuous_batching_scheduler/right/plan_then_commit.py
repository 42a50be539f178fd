"""Plans a step on copies of the numbers and commits it at the end; returns a bare tuple.

Admission takes the next chunk or nothing. A request named in `stopped` that sampled nothing is
refused with ValueError.
"""

WAITS, RUNS = "waits", "runs"


class Scheduler:
    def __init__(self, *, max_num_seqs, token_budget, num_blocks, block_size):
        self.limits = (max_num_seqs, token_budget, num_blocks, block_size)
        if not all(limit > 0 for limit in self.limits):
            raise ValueError(f"limits must be positive: {self.limits}")
        self.rows = {}  # id -> [state, prompt_len, max_new_tokens, sampled, computed]
        self.plan = {}
        self.running, self.waiting = [], []
        self.num_free_blocks = num_blocks

    def add_request(self, request_id, prompt_len, max_new_tokens):
        _, _, num_blocks, block_size = self.limits
        if request_id in self.rows or prompt_len <= 0 or max_new_tokens <= 0:
            raise ValueError(f"cannot take {request_id!r}")
        if prompt_len + max_new_tokens > num_blocks * block_size + 1:
            raise ValueError(f"{request_id!r} is too long for the pool")
        self.rows[request_id] = [WAITS, prompt_len, max_new_tokens, 0, 0]
        self._refresh()

    def schedule(self):
        max_num_seqs, token_budget, num_blocks, _ = self.limits
        keep = list(self.running)
        plan = {}
        place = 0
        while place < len(keep):
            name = keep[place]
            tokens = min(self._left(name), token_budget - sum(plan.values()))
            if tokens == 0:
                break
            while name in keep and self._held(keep, {**plan, name: tokens}) > num_blocks:
                keep.pop()
            if name in keep:
                plan[name] = tokens
            place += 1
        preempted = self.running[len(keep) :]
        if not preempted:
            for name in self.waiting:
                tokens = min(self._left(name), token_budget - sum(plan.values()))
                grown = self._held([*keep, name], {**plan, name: tokens})
                if tokens == 0 or len(keep) == max_num_seqs or grown > num_blocks:
                    break
                keep.append(name)
                plan[name] = tokens
        for name in preempted:
            self.rows[name][0] = WAITS
            self.rows[name][4] = 0
        for name in keep:
            self.rows[name][0] = RUNS
        self.plan = plan
        self._refresh()
        return dict(plan), preempted

    def update(self, stopped=()):
        for name in stopped:
            if name not in self.rows:
                raise KeyError(name)
        sampling = [name for name, tokens in self.plan.items() if tokens == self._left(name)]
        if any(name not in sampling for name in stopped):
            raise ValueError("a request that sampled nothing cannot stop")
        for name, tokens in self.plan.items():
            self.rows[name][4] += tokens
        self.plan = {}
        finished = []
        for name in sampling:
            self.rows[name][3] += 1
            if name in stopped or self.rows[name][3] == self.rows[name][2]:
                finished.append(name)
                del self.rows[name]
        self._refresh()
        return finished

    def abort(self, request_id):
        del self.rows[request_id]
        self.plan.pop(request_id, None)
        self._refresh()

    def _left(self, name):
        _, prompt_len, _, sampled, computed = self.rows[name]
        return prompt_len + sampled - computed

    def _held(self, names, plan):
        block_size = self.limits[3]
        lengths = [self.rows[name][4] + plan.get(name, 0) for name in names]
        return sum((length - 1) // block_size + 1 for length in lengths)

    def _refresh(self):
        self.running = [name for name, row in self.rows.items() if row[0] is RUNS]
        self.waiting = [name for name, row in self.rows.items() if row[0] is WAITS]
        self.num_free_blocks = self.limits[2] - self._held(self.running, self.plan)
