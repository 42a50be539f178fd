"""Page objects that know their holders by name; free pages form a linked list through the pages."""


class OutOfBlocks(Exception):
    pass


class Page:
    __slots__ = ("holders", "next_free", "number")

    def __init__(self, number, next_free):
        self.number, self.next_free = number, next_free
        self.holders = set()


class PagedAllocator:
    def __init__(self, num_blocks, block_size):
        if num_blocks < 0 or block_size < 1:
            raise ValueError((num_blocks, block_size))
        self.block_size = block_size
        self.num_free_blocks = num_blocks
        self.pages = {}
        self.head = None
        for number in range(num_blocks):
            self.head = self.pages[number] = Page(number, self.head)
        self.sequences = {}  # name -> pages
        self.slots_left = {}  # name -> room in the last page

    def allocate(self, seq_id, num_tokens):
        self._refuse_name(seq_id)
        num_pages, room = self._new_pages(0, num_tokens)
        self._refuse_beyond(num_pages)
        self.sequences[seq_id] = [self._hand_to(seq_id) for _ in range(num_pages)]
        self.slots_left[seq_id] = room
        return self.block_table(seq_id)

    def append(self, seq_id, num_tokens=1):
        pages = self.sequences[seq_id]
        num_pages, room = self._new_pages(self.slots_left[seq_id], num_tokens)
        writes_last = num_tokens > 0 and self.slots_left[seq_id] > 0
        copies = writes_last and len(pages[-1].holders) > 1
        self._refuse_beyond(num_pages + copies)
        old = pages[-1] if copies else None
        if copies:
            pages[-1] = self._hand_to(seq_id)
            self._take_from(seq_id, old)
        report = [(old.number, pages[-1].number)] if copies else []
        for _ in range(num_pages):
            pages.append(self._hand_to(seq_id))
        self.slots_left[seq_id] = room
        return report

    def fork(self, parent_id, child_id):
        pages = self.sequences[parent_id]
        self._refuse_name(child_id)
        for page in pages:
            page.holders.add(child_id)
        self.sequences[child_id] = list(pages)
        self.slots_left[child_id] = self.slots_left[parent_id]
        return self.block_table(child_id)

    def free(self, seq_id):
        for page in self.sequences.pop(seq_id):
            self._take_from(seq_id, page)
        del self.slots_left[seq_id]

    def block_table(self, seq_id):
        return [page.number for page in self.sequences[seq_id]]

    def num_tokens(self, seq_id):
        return len(self.sequences[seq_id]) * self.block_size - self.slots_left[seq_id]

    def ref_count(self, block_id):
        return len(self.pages[block_id].holders)

    def _new_pages(self, room, num_tokens):
        """How many pages `num_tokens` more take, and the room they leave in the last one."""
        if num_tokens < 0:
            raise ValueError(num_tokens)
        missing = num_tokens - room
        if missing <= 0:
            return 0, -missing
        full, rest = divmod(missing, self.block_size)
        return full + bool(rest), (self.block_size - rest) % self.block_size

    def _hand_to(self, seq_id):
        page, self.head = self.head, self.head.next_free
        page.holders.add(seq_id)
        self.num_free_blocks -= 1
        return page

    def _take_from(self, seq_id, page):
        page.holders.remove(seq_id)
        if not page.holders:
            page.next_free, self.head = self.head, page
            self.num_free_blocks += 1

    def _refuse_name(self, seq_id):
        if seq_id in self.sequences:
            raise ValueError(seq_id)

    def _refuse_beyond(self, num_pages):
        if num_pages > self.num_free_blocks:
            raise OutOfBlocks(num_pages)
