"""A bitmap of free blocks under a tree of 64-bit summaries; append works one token at a time."""

WORD = 64


class OutOfBlocks(Exception):
    pass


class Bitmap:
    """A set of small integers; bit `i` of a summary says that word `i` below it is not 0."""

    def __init__(self, size):
        self.levels = [_filled(size)]
        while len(self.levels[-1]) > 1:
            self.levels.append(_filled(len(self.levels[-1])))

    def add(self, index):
        for words in self.levels:
            index, bit = divmod(index, WORD)
            words[index] |= 1 << bit

    def remove(self, index):
        for words in self.levels:
            index, bit = divmod(index, WORD)
            words[index] &= ~(1 << bit)
            if words[index]:
                return

    def lowest(self):
        index = 0
        for words in reversed(self.levels):
            word = words[index]
            index = index * WORD + (word & -word).bit_length() - 1
        return index


class PagedAllocator:
    def __init__(self, num_blocks, block_size):
        if num_blocks < 0:
            raise ValueError("num_blocks must be at least 0")
        if block_size <= 0:
            raise ValueError("block_size must be at least 1")
        self.num_free_blocks = num_blocks  # a plain attribute, kept up to date
        self._size = block_size
        self._bitmap = Bitmap(num_blocks)
        self._refs = [0] * num_blocks
        self._seqs = {}  # seq_id -> [table, length]

    def allocate(self, seq_id, num_tokens):
        if seq_id in self._seqs or num_tokens < 0:
            raise ValueError(f"cannot allocate {num_tokens} tokens for {seq_id!r}")
        self._seqs[seq_id] = [[], 0]
        try:
            self.append(seq_id, num_tokens)
        except OutOfBlocks:
            del self._seqs[seq_id]
            raise
        return self.block_table(seq_id)

    def append(self, seq_id, num_tokens=1):
        table, length = self._seqs[seq_id]
        if num_tokens < 0:
            raise ValueError("num_tokens must be at least 0")
        needed = (length + num_tokens + self._size - 1) // self._size - len(table)
        if num_tokens and length % self._size and self._refs[table[-1]] > 1:
            needed += 1
        if needed > self.num_free_blocks:
            raise OutOfBlocks(needed)
        copies = []
        for _ in range(num_tokens):
            copies += self._append_one(self._seqs[seq_id])
        return copies

    def _append_one(self, seq):
        table, length = seq
        seq[1] = length + 1
        if length % self._size == 0:
            table.append(self._take())
        elif self._refs[table[-1]] > 1:
            old = table[-1]
            self._refs[old] -= 1
            table[-1] = self._take()
            return [(old, table[-1])]
        return []

    def fork(self, parent_id, child_id):
        table, length = self._seqs[parent_id]
        if child_id in self._seqs:
            raise ValueError(f"{child_id!r} exists")
        self._seqs[child_id] = [table[:], length]
        for block in table:
            self._refs[block] += 1
        return table[:]

    def free(self, seq_id):
        table, _ = self._seqs.pop(seq_id)
        for block in reversed(table):
            self._refs[block] -= 1
            if self._refs[block] == 0:
                self._bitmap.add(block)
                self.num_free_blocks += 1

    def block_table(self, seq_id):
        return self._seqs[seq_id][0][:]

    def num_tokens(self, seq_id):
        return self._seqs[seq_id][1]

    def ref_count(self, block_id):
        if block_id < 0 or block_id >= len(self._refs):
            raise ValueError(f"no block {block_id}")
        return self._refs[block_id]

    def _take(self):
        block = self._bitmap.lowest()
        self._bitmap.remove(block)
        self._refs[block] = 1
        self.num_free_blocks -= 1
        return block


def _filled(size):
    """Words with the first `size` bits set."""
    words = [(1 << WORD) - 1] * (size // WORD)
    if size % WORD or not words:
        words.append((1 << size % WORD) - 1)
    return words
