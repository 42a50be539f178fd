"""The block pool as it stands at the broken call: who holds which block, and how full it is."""

from __future__ import annotations

from collections.abc import Iterator

from harness.render.svg import LINE, WIDTH, Drawing, cut, picture, rect, text
from harness.suite.pictures import Block, BlockPool, Table

A_ROW = 8
SIDE = WIDTH / A_ROW
GAP = 4
BAR = 5


def draw(pool: BlockPool) -> Drawing:
    """Blocks in rows, with their holders and their used slots; the tables below."""
    rows = -(-len(pool.blocks) // A_ROW)
    parts = [part for i, block in enumerate(pool.blocks) for part in _block(i, block, pool)]
    top = rows * SIDE + LINE
    parts += [part for i, table in enumerate(pool.tables) for part in _table(top + i * LINE, table)]
    held = sum(bool(block.holders) for block in pool.blocks)
    label = f"Block pool: {held} of {pool.num_blocks} blocks held"
    return Drawing(
        picture(parts, height=top + len(pool.tables) * LINE, label=label), _caption(pool, held)
    )


def _block(position: int, block: Block, pool: BlockPool) -> Iterator[str]:
    x, y = position % A_ROW * SIDE, position // A_ROW * SIDE
    side = SIDE - GAP
    marked = block.id in pool.marked
    kind = ("held" if block.holders else "free") + (" marked" if marked else "")
    yield rect(x + 1.5, y + 1.5, side, side, kind)
    yield text(x + 5, y + 13, cut(block.id, 5), kind="small")
    holders = cut(" ".join(block.holders) or "free", 6)
    yield text(x + 1.5 + side / 2, y + 27, holders, anchor="middle", kind="small")
    if block.holders and pool.block_size:
        share = min(1.0, block.used / pool.block_size)
        yield rect(x + 5, y + side - BAR, side - 7, BAR, "slots")
        yield rect(x + 5, y + side - BAR, (side - 7) * share, BAR, "used")


def _table(y: float, table: Table) -> Iterator[str]:
    blocks = cut(" ".join(table.blocks) or "no block", 30)
    yield text(2, y, cut(table.sequence, 8))
    yield text(64, y, f"{table.tokens} tokens", kind="small")
    yield text(140, y, f"[{blocks}]")


def _caption(pool: BlockPool, held: int) -> str:
    outlined = ", ".join(pool.marked)
    return (
        f"The pool of {pool.num_blocks} blocks of {pool.block_size} tokens at the call that broke: "
        f"{held} held. Each block has its number, its holders, and a bar for its used slots"
        + (f"; heavily outlined: {outlined}." if outlined else ".")
    )
