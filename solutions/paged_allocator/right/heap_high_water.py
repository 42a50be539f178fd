"""A heap of returned blocks over a mark below which all were used: nothing walks the pool, ever."""

from heapq import heappop, heappush


class OutOfBlocks(RuntimeError):
    pass


class PagedAllocator:
    def __init__(self, num_blocks: int, block_size: int) -> None:
        if num_blocks < 0:
            raise ValueError(num_blocks)
        if block_size < 1:
            raise ValueError(block_size)
        self.num_blocks, self.block_size = num_blocks, block_size
        self._never_used = 0  # blocks from here on were never taken
        self._returned: list[int] = []
        self._owners: dict[int, int] = {}
        self._tables: dict[str, list[int]] = {}
        self._tokens: dict[str, int] = {}

    @property
    def num_free_blocks(self) -> int:
        return self.num_blocks - len(self._owners)

    def allocate(self, seq_id: str, num_tokens: int) -> list[int]:
        if seq_id in self._tokens:
            raise ValueError(f"sequence {seq_id} is alive")
        if num_tokens < 0:
            raise ValueError(f"{num_tokens} tokens")
        wanted = (num_tokens + self.block_size - 1) // self.block_size
        self._refuse_beyond(wanted)
        self._tables[seq_id] = [self._pop() for _ in range(wanted)]
        self._tokens[seq_id] = num_tokens
        return self.block_table(seq_id)

    def append(self, seq_id: str, num_tokens: int = 1) -> list[tuple[int, int]]:
        before = self._tokens[seq_id]
        if num_tokens < 0:
            raise ValueError(f"{num_tokens} tokens")
        used_in_last = before % self.block_size
        copied = num_tokens > 0 and used_in_last > 0 and self._owners[self._tables[seq_id][-1]] > 1
        first_new = -(-before // self.block_size)
        wanted = -(-(before + num_tokens) // self.block_size) - first_new
        self._refuse_beyond(wanted + copied)
        pairs = [self._replace_end(seq_id)] if copied else []
        self._tables[seq_id].extend(self._pop() for _ in range(wanted))
        self._tokens[seq_id] = before + num_tokens
        return pairs

    def fork(self, parent_id: str, child_id: str) -> list[int]:
        shared = self.block_table(parent_id)
        if child_id in self._tokens:
            raise ValueError(f"sequence {child_id} is alive")
        for block in shared:
            self._owners[block] += 1
        self._tables[child_id] = shared
        self._tokens[child_id] = self._tokens[parent_id]
        return list(shared)

    def free(self, seq_id: str) -> None:
        del self._tokens[seq_id]
        for block in self._tables.pop(seq_id):
            self._put_down(block)

    def block_table(self, seq_id: str) -> list[int]:
        return self._tables[seq_id].copy()

    def num_tokens(self, seq_id: str) -> int:
        return self._tokens[seq_id]

    def ref_count(self, block_id: int) -> int:
        if not 0 <= block_id < self.num_blocks:
            raise ValueError(f"block {block_id} of {self.num_blocks}")
        return self._owners.get(block_id, 0)

    def _replace_end(self, seq_id: str) -> tuple[int, int]:
        old, new = self._tables[seq_id][-1], self._pop()
        self._tables[seq_id][-1] = new
        self._put_down(old)
        return old, new

    def _pop(self) -> int:
        if self._returned:
            block = heappop(self._returned)
        else:
            block = self._never_used
            self._never_used += 1
        self._owners[block] = 1
        return block

    def _put_down(self, block: int) -> None:
        self._owners[block] -= 1
        if self._owners[block] == 0:
            del self._owners[block]
            heappush(self._returned, block)

    def _refuse_beyond(self, wanted: int) -> None:
        if wanted > self.num_free_blocks:
            raise OutOfBlocks(f"{wanted} wanted, {self.num_free_blocks} free")
