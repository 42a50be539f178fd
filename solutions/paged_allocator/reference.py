"""A pool of KV blocks, shared by count, with copy-on-write on the last block.

The idea is PagedAttention's (Kwon et al., 2023, arXiv:2309.06180, section 4): sequences hold tables
of blocks, a fork shares them, and the first writer into a shared block takes a copy. Only a partly
full last block is ever written to while it is shared, so one append makes one copy at most.
"""


class OutOfBlocks(Exception):
    """A request needs more blocks than are free."""


class PagedAllocator:
    """A pool of `num_blocks` blocks, each with room for `block_size` tokens."""

    def __init__(self, num_blocks: int, block_size: int):
        if num_blocks < 0:
            raise ValueError(f"num_blocks is {num_blocks}; write 0 or more")
        if block_size < 1:
            raise ValueError(f"block_size is {block_size}; write 1 or more")
        self._block_size = block_size
        self._free = list(range(num_blocks))  # a stack: the block freed last is taken first
        self._counts = [0] * num_blocks
        self._tables: dict[str, list[int]] = {}
        self._lengths: dict[str, int] = {}

    @property
    def num_free_blocks(self) -> int:
        return len(self._free)

    def allocate(self, seq_id: str, num_tokens: int) -> list[int]:
        self._refuse_taken(seq_id)
        _refuse_negative(num_tokens)
        table = self._take(self._blocks_for(num_tokens))
        self._tables[seq_id] = table
        self._lengths[seq_id] = num_tokens
        return list(table)

    def append(self, seq_id: str, num_tokens: int = 1) -> list[tuple[int, int]]:
        table = self._tables[seq_id]
        _refuse_negative(num_tokens)
        length = self._lengths[seq_id] + num_tokens
        must_copy = num_tokens > 0 and self._writes_into_shared(seq_id)
        growth = self._blocks_for(length) - len(table)
        fresh = self._take(growth + must_copy)  # the last line that can raise, the first to change
        copies = []
        if must_copy:
            old = table.pop()
            copies.append((old, fresh[0]))
            self._release(old)
        table.extend(fresh)  # with a copy, fresh[0] lands in the place of the old block
        self._lengths[seq_id] = length
        return copies

    def fork(self, parent_id: str, child_id: str) -> list[int]:
        table = list(self._tables[parent_id])
        self._refuse_taken(child_id)
        for block in table:
            self._counts[block] += 1
        self._tables[child_id] = table
        self._lengths[child_id] = self._lengths[parent_id]
        return list(table)

    def free(self, seq_id: str) -> None:
        table = self._tables.pop(seq_id)
        del self._lengths[seq_id]
        for block in table:
            self._release(block)

    def block_table(self, seq_id: str) -> list[int]:
        return list(self._tables[seq_id])

    def num_tokens(self, seq_id: str) -> int:
        return self._lengths[seq_id]

    def ref_count(self, block_id: int) -> int:
        if not 0 <= block_id < len(self._counts):  # a list would take -1 for its last block
            raise ValueError(f"block_id is {block_id}; write 0 to {len(self._counts) - 1}")
        return self._counts[block_id]

    def _blocks_for(self, num_tokens: int) -> int:
        return -(-num_tokens // self._block_size)

    def _writes_into_shared(self, seq_id: str) -> bool:
        """Whether the next token falls into a block that another table holds too."""
        is_partial = self._lengths[seq_id] % self._block_size != 0
        return is_partial and self._counts[self._tables[seq_id][-1]] > 1

    def _take(self, num_wanted: int) -> list[int]:
        """Take that many free blocks, each with a count of 1, or none at all."""
        if num_wanted > len(self._free):
            raise OutOfBlocks(f"wanted {num_wanted} blocks, {len(self._free)} are free")
        taken = [self._free.pop() for _ in range(num_wanted)]
        for block in taken:
            self._counts[block] = 1
        return taken

    def _release(self, block: int) -> None:
        self._counts[block] -= 1
        if self._counts[block] == 0:
            self._free.append(block)

    def _refuse_taken(self, seq_id: str) -> None:
        if seq_id in self._tables:
            raise ValueError(f"there is a sequence {seq_id!r} already; free it or take another id")


def _refuse_negative(num_tokens: int) -> None:
    if num_tokens < 0:
        raise ValueError(f"num_tokens is {num_tokens}; write 0 or more")
