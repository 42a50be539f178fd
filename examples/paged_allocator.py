"""A paged KV allocator: block tables over a shared pool, copy-on-write after a fork."""

from collections import deque
from dataclasses import dataclass, field


class OutOfBlocks(Exception):
    """Raised before anything changes when the pool cannot cover a request."""


@dataclass(slots=True)
class Sequence:
    num_tokens: int = 0
    table: list[int] = field(default_factory=list)


class BlockPool:
    """Free blocks in a queue, reference counts in a list."""

    def __init__(self, num_blocks: int):
        self.free = deque(range(num_blocks))
        self.refs = [0] * num_blocks

    def reserve(self, count: int) -> list[int]:
        if count > len(self.free):
            raise OutOfBlocks(f"need {count} blocks, only {len(self.free)} free")
        blocks = [self.free.popleft() for _ in range(count)]
        for block in blocks:
            self.refs[block] = 1
        return blocks

    def share(self, blocks: list[int]) -> None:
        for block in blocks:
            self.refs[block] += 1

    def release(self, blocks: list[int]) -> None:
        for block in blocks:
            self.refs[block] -= 1
            if self.refs[block] == 0:
                self.free.append(block)


class PagedAllocator:
    def __init__(self, num_blocks: int, block_size: int):
        if num_blocks < 0:
            raise ValueError(f"num_blocks must not be negative, got {num_blocks}")
        if block_size < 1:
            raise ValueError(f"block_size must be positive, got {block_size}")
        self.num_blocks = num_blocks
        self.block_size = block_size
        self._pool = BlockPool(num_blocks)
        self._sequences: dict[str, Sequence] = {}

    @property
    def num_free_blocks(self) -> int:
        return len(self._pool.free)

    def allocate(self, seq_id: str, num_tokens: int) -> list[int]:
        self._check_new(seq_id)
        if num_tokens < 0:
            raise ValueError(f"num_tokens must not be negative, got {num_tokens}")
        table = self._pool.reserve(self._blocks_for(num_tokens))
        self._sequences[seq_id] = Sequence(num_tokens, table)
        return list(table)

    def append(self, seq_id: str, num_tokens: int = 1) -> list[tuple[int, int]]:
        seq = self._sequences[seq_id]
        if num_tokens < 0:
            raise ValueError(f"num_tokens must not be negative, got {num_tokens}")
        if num_tokens == 0:
            return []

        new_length = seq.num_tokens + num_tokens
        missing = self._blocks_for(new_length) - len(seq.table)
        copies = []
        if missing > 0:
            seq.table.extend(self._pool.reserve(missing))
        elif self._pool.refs[seq.table[-1]] > 1:
            # The tokens land in a block that someone else still reads.
            (private,) = self._pool.reserve(1)
            shared = seq.table[-1]
            seq.table[-1] = private
            self._pool.release([shared])
            copies.append((shared, private))
        seq.num_tokens = new_length
        return copies

    def fork(self, parent_id: str, child_id: str) -> list[int]:
        parent = self._sequences[parent_id]
        self._check_new(child_id)
        self._pool.share(parent.table)
        self._sequences[child_id] = Sequence(parent.num_tokens, list(parent.table))
        return list(parent.table)

    def free(self, seq_id: str) -> None:
        seq = self._sequences.pop(seq_id)
        self._pool.release(seq.table)

    def block_table(self, seq_id: str) -> list[int]:
        return list(self._sequences[seq_id].table)

    def num_tokens(self, seq_id: str) -> int:
        return self._sequences[seq_id].num_tokens

    def ref_count(self, block_id: int) -> int:
        if not 0 <= block_id < self.num_blocks:
            raise ValueError(f"block_id must be in [0, {self.num_blocks}), got {block_id}")
        return self._pool.refs[block_id]

    def _blocks_for(self, num_tokens: int) -> int:
        return (num_tokens + self.block_size - 1) // self.block_size

    def _check_new(self, seq_id: str) -> None:
        if seq_id in self._sequences:
            raise ValueError(f"sequence {seq_id!r} already exists")
