"""No line is kept: every list is a sort of arrival numbers, and every victim a maximum.

Where the free blocks are too few for all of a prompt it admits a single token, and looks on behind.
Sets come back where lists are asked for in no order.
"""

from types import SimpleNamespace


class Step:
    def __init__(self):
        self.scheduled = {}
        self.preempted = ()
        self.left = 0


class Scheduler:
    def __init__(self, max_num_seqs, token_budget, num_blocks, block_size):
        if not (max_num_seqs > 0 and token_budget > 0 and num_blocks > 0 and block_size > 0):
            raise ValueError("nothing can run")
        self.max_num_seqs = max_num_seqs
        self.token_budget = token_budget
        self.num_blocks = num_blocks
        self.block_size = block_size
        self.by_number = {}
        self.arrived = 0

    @property
    def num_free_blocks(self):
        held = (self.span(r.computed + r.promised) for r in self.by_number.values())
        return self.num_blocks - sum(held)

    @property
    def running(self):
        return tuple(r.name for r in self.ordered(active=True))

    @property
    def waiting(self):
        return tuple(r.name for r in self.ordered(active=False))

    def add_request(self, request_id, prompt_len, max_new_tokens):
        if any(r.name == request_id for r in self.by_number.values()):
            raise ValueError(request_id)
        if prompt_len < 1 or max_new_tokens < 1:
            raise ValueError((prompt_len, max_new_tokens))
        if self.span(prompt_len + max_new_tokens - 1) > self.num_blocks:
            raise ValueError("too long for the pool")
        self.by_number[self.arrived] = SimpleNamespace(
            number=self.arrived, name=request_id, active=False, known=prompt_len,
            to_sample=max_new_tokens, computed=0, promised=0,
        )  # fmt: skip
        self.arrived += 1

    def schedule(self):
        step = Step()
        step.left = self.token_budget
        preempted = set()
        for request in self.ordered(active=True):
            if not request.active:
                continue
            tokens = min(request.known - request.computed, step.left)
            grows = self.span(request.computed + tokens) - self.span(request.computed)
            while request.active and grows > self.num_free_blocks:
                victim = max(self.ordered(active=True), key=lambda r: r.number)
                victim.active, victim.computed, victim.promised = False, 0, 0
                preempted.add(victim.name)
            if request.active:
                self.promise(step, request, tokens)
        if not preempted:
            self.admit(step)
        step.preempted = preempted
        return step

    def admit(self, step):
        places = self.max_num_seqs - len(self.running)
        for request in self.ordered(active=False)[:places]:
            tokens = min(request.known, step.left)
            if self.span(request.known) > self.num_free_blocks:
                tokens = min(tokens, self.num_free_blocks, 1)
            if tokens == 0:
                return
            request.active = True
            self.promise(step, request, tokens)

    def promise(self, step, request, tokens):
        if tokens:
            request.promised = tokens
            step.scheduled[request.name] = tokens
            step.left -= tokens

    def update(self, stopped=()):
        alive = {r.name for r in self.by_number.values()}
        for name in stopped:
            if name not in alive:
                raise KeyError(name)
        ended = set()
        for request in self.ordered(active=True):
            moved, request.promised = request.promised, 0
            request.computed += moved
            if moved and request.computed == request.known:
                request.known += 1
                request.to_sample -= 1
                if request.name in stopped or request.to_sample == 0:
                    del self.by_number[request.number]
                    ended.add(request.name)
        return ended

    def abort(self, request_id):
        numbers = [r.number for r in self.by_number.values() if r.name == request_id]
        if not numbers:
            raise KeyError(request_id)
        del self.by_number[numbers[0]]

    def ordered(self, *, active):
        return [
            self.by_number[n] for n in sorted(self.by_number) if self.by_number[n].active is active
        ]

    def span(self, tokens):
        return (tokens + self.block_size - 1) // self.block_size
