"""Paged KV block allocator: block tables, counts, copy-on-write."""


class OutOfBlocks(Exception):
    """A request needs more blocks than are free."""


class PagedAllocator:
    """A pool of `num_blocks` blocks, each with room for `block_size` tokens.

    `num_free_blocks` (attribute or property) is the number of blocks in no table.
    A call that raises leaves everything as it was.
    """

    def __init__(self, num_blocks: int, block_size: int):
        """ValueError: num_blocks below 0, block_size below 1."""
        raise NotImplementedError

    def allocate(self, seq_id: str, num_tokens: int) -> list[int]:
        """Start a sequence and return its table of ceil(num_tokens / block_size) blocks.

        ValueError: seq_id is taken, num_tokens below 0. OutOfBlocks: too few free blocks.
        """
        raise NotImplementedError

    def append(self, seq_id: str, num_tokens: int = 1) -> list[tuple[int, int]]:
        """Grow a sequence; return the (src, dst) block copies the engine makes before it writes.

        KeyError: no such sequence. ValueError: num_tokens below 0. OutOfBlocks: too few free
        blocks.
        """
        raise NotImplementedError

    def fork(self, parent_id: str, child_id: str) -> list[int]:
        """Start a child that shares every block of its parent; return the child's table.

        KeyError: no such parent. ValueError: child_id is taken.
        """
        raise NotImplementedError

    def free(self, seq_id: str) -> None:
        """End a sequence. KeyError: no such sequence."""
        raise NotImplementedError

    def block_table(self, seq_id: str) -> list[int]:
        """The blocks of a sequence, first token first. KeyError: no such sequence."""
        raise NotImplementedError

    def num_tokens(self, seq_id: str) -> int:
        """The length of a sequence. KeyError: no such sequence."""
        raise NotImplementedError

    def ref_count(self, block_id: int) -> int:
        """The number of tables a block stands in.

        ValueError or KeyError: block_id outside [0, num_blocks).
        """
        raise NotImplementedError
