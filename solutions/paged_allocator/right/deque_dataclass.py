"""Sequence objects, a queue of free blocks (the longest free is taken first), counts in a dict."""

from collections import deque
from dataclasses import dataclass, field


class OutOfBlocks(Exception):
    pass


@dataclass
class Sequence:
    num_tokens: int = 0
    blocks: list[int] = field(default_factory=list)


class PagedAllocator:
    def __init__(self, num_blocks, block_size):
        if num_blocks < 0 or block_size < 1:
            raise ValueError(f"no pool of {num_blocks} blocks of {block_size} tokens")
        self.num_blocks = num_blocks
        self.block_size = block_size
        self.free_blocks = deque(range(num_blocks))
        self.counts = {}  # held blocks only
        self.sequences = {}

    @property
    def num_free_blocks(self):
        return len(self.free_blocks)

    def allocate(self, seq_id, num_tokens):
        if seq_id in self.sequences:
            raise ValueError(f"{seq_id!r} is taken")
        sequence = Sequence()
        self._grow(sequence, num_tokens)
        self.sequences[seq_id] = sequence
        return sequence.blocks.copy()

    def append(self, seq_id, num_tokens=1):
        return self._grow(self.sequences[seq_id], num_tokens)

    def fork(self, parent_id, child_id):
        parent = self.sequences[parent_id]
        if child_id in self.sequences:
            raise ValueError(f"{child_id!r} is taken")
        child = Sequence(parent.num_tokens, parent.blocks.copy())
        for block in child.blocks:
            self.counts[block] += 1
        self.sequences[child_id] = child
        return child.blocks.copy()

    def free(self, seq_id):
        for block in self.sequences.pop(seq_id).blocks:
            self._drop(block)

    def block_table(self, seq_id):
        return self.sequences[seq_id].blocks.copy()

    def num_tokens(self, seq_id):
        return self.sequences[seq_id].num_tokens

    def ref_count(self, block_id):
        if block_id not in range(self.num_blocks):
            raise KeyError(block_id)
        return self.counts.get(block_id, 0)

    def _grow(self, sequence, num_tokens):
        if num_tokens < 0:
            raise ValueError(f"cannot add {num_tokens} tokens")
        room = len(sequence.blocks) * self.block_size - sequence.num_tokens
        num_new = -(min(room - num_tokens, 0) // self.block_size)
        shared = num_tokens > 0 and room > 0 and self.counts[sequence.blocks[-1]] > 1
        if num_new + shared > len(self.free_blocks):
            raise OutOfBlocks
        copies = []
        if shared:
            source, target = sequence.blocks[-1], self._next()
            sequence.blocks[-1] = target
            self._drop(source)
            copies.append((source, target))
        sequence.blocks += [self._next() for _ in range(num_new)]
        sequence.num_tokens += num_tokens
        return copies

    def _next(self):
        block = self.free_blocks.popleft()
        self.counts[block] = 1
        return block

    def _drop(self, block):
        self.counts[block] -= 1
        if not self.counts[block]:
            del self.counts[block]
            self.free_blocks.append(block)
