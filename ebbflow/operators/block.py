"""Block: a few hundred rows, column by column, on their way along an edge.

A block is a list of columns, each an address and a stride; so adjacent rows, adjacent columns and a constant are all
columns. Selecting lanes is selecting columns; an expression program runs over a whole column in each of its steps.

Rule: after `run_stages` the block has the columns, ranks and diffs of the rows that arrive at the next node.
"""

from __future__ import annotations

from ebbflow.expressions.interpreter import BLOCK_ROWS, REGISTERS, interpret, interpret_block
from ebbflow.limits import COLUMNS
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import load_lane, store_lane
from ebbflow.trace.heap import PTR, ROW, ROW2, mix_in, mixed

# ---- the room for a block: per row a hash, the place of an entry, rank, diff, and whether it is kept ----------
HASHES, ROW_TARGETS, BLOCK_RANKS, BLOCK_DIFFS, CHOSEN = (BLOCK_ROWS * i for i in range(5))
BANKS = 5 * BLOCK_ROWS  # two banks of registers, by turns the source and the result of a stage
BANK = REGISTERS * BLOCK_ROWS
COLUMNS_AT = BANKS + 2 * BANK  # the list of columns, then room to make the next one
MOST_COLUMNS = COLUMNS  # a room for all of the widest collection: who fills the list need not ask
FEW_LEFT_OUT = 8  # if less than one in so many rows is left out, the others are copied in runs

ROOM = COLUMNS_AT + 4 * MOST_COLUMNS

# ---- a stage: kind, then --------------------------------------------------------------------------
COPY, PROGRAM = 0, 1
# COPY: n, lane, lane...;  PROGRAM: the address of an expression program, the lanes it reads, the columns it makes,
# whether it can run over whole columns


@inline
def set_column(H, columns, k, at, step):
    H[columns + 2 * k] = at
    H[columns + 2 * k + 1] = step


@inline
def copy_row(H, columns, row, to, lanes):
    """Some lanes of a row of the block, side by side."""
    for k in range(lanes):
        H[to + k] = H[H[columns + 2 * k] + row * H[columns + 2 * k + 1]]


@kernel
def hash_block(H, b, nk, n, mask):
    """The hashes of the first nk lanes of a block's rows, in HASHES: as many bits as the mask has of `hash_lanes`."""
    hashes = b + HASHES
    columns = b + COLUMNS_AT
    for i in range(n):
        H[hashes + i] = 0
    for k in range(nk):
        c = H[columns + 2 * k]
        s = H[columns + 2 * k + 1]
        for i in range(n):
            H[hashes + i] = mix_in(H[hashes + i], H[c + i * s])
    for i in range(n):
        H[hashes + i] = mixed(H[hashes + i]) & mask


@kernel
def pick_lanes(H, b, stage):
    """The columns that a stage picks become the columns of the block."""
    columns = b + COLUMNS_AT
    side = columns + 2 * MOST_COLUMNS
    n = H[stage + 1]
    for k in range(n):
        lane = H[stage + 2 + k]
        set_column(H, side, k, H[columns + 2 * lane], H[columns + 2 * lane + 1])
    for k in range(2 * n):
        H[columns + k] = H[side + k]


@kernel
def find_runs(H, b, n, kept):
    """Where nearly all of n rows are kept: the runs of rows that follow each other, in HASHES `first, rows` each.

    leaves: how many runs; 0 if too many rows are left out for it to pay.
    """
    if kept * FEW_LEFT_OUT <= n * (FEW_LEFT_OUT - 1):
        return 0
    chosen = b + CHOSEN
    runs = 0
    start = 0
    while start < kept:
        first = H[chosen + start]
        low = start + 1  # the run ends between these; what it leaves out before a row never becomes less
        end = kept
        while low < end:
            i = (low + end) >> 1
            if H[chosen + i] - i == first - start:
                low = i + 1
            else:
                end = i
        H[b + HASHES + 2 * runs] = first
        H[b + HASHES + 2 * runs + 1] = end - start
        runs += 1
        start = end
    return runs


@kernel
def pack_column(H, b, c, s, to, kept, runs):
    """The chosen rows of a column, side by side."""
    if s != 1 or runs == 0:
        for i in range(kept):
            H[to + i] = H[c + H[b + CHOSEN + i] * s]
        return
    for r in range(runs):
        p = c + H[b + HASHES + 2 * r]
        n = H[b + HASHES + 2 * r + 1]
        for i in range(n):
            store_lane(to + i, load_lane(p + i))
        to += n


@kernel
def run_row_by_row(H, W, b, stage, bank, n):
    """A program that only runs on rows: on each row, into the bank.

    leaves: in CHOSEN the rows that are kept, and how many; -1 - i if row i overflowed.
    """
    columns = b + COLUMNS_AT
    lanes = H[stage + 2]
    outs = H[stage + 3]
    row = H[W + ROW + PTR]
    regs = H[W + ROW2 + PTR]
    kept = 0
    for i in range(n):
        for k in range(lanes):
            H[row + k] = H[H[columns + 2 * k] + i * H[columns + 2 * k + 1]]
        found = interpret(H, H[stage + 1], row, regs)
        if found < 0:
            return -1 - i
        if found:
            for k in range(outs):
                H[bank + k * BLOCK_ROWS + kept] = H[regs + k]
            H[b + CHOSEN + kept] = i
            kept += 1
    for k in range(outs):
        set_column(H, columns, k, bank + k * BLOCK_ROWS, 1)
    return kept


@kernel
def run_program(H, W, b, stage, bank, n, is_last):
    """The block's rows through a program; its result lies in the bank, or is a column that was there.

    needs:  is_last: whether nobody will fill the other bank while these columns are needed.
    leaves: in CHOSEN the rows that are kept, and how many; -1 - i if row i overflowed.
    """
    if H[stage + 4] == 0:
        return run_row_by_row(H, W, b, stage, bank, n)
    columns = b + COLUMNS_AT
    side = columns + 2 * MOST_COLUMNS
    kept = interpret_block(H, H[stage + 1], columns, side, bank, b + CHOSEN, n)
    if kept < 0:  # some row overflowed, perhaps one that is not kept: the rows tell
        return run_row_by_row(H, W, b, stage, bank, n)
    runs = find_runs(H, b, n, kept)
    for k in range(H[stage + 3]):
        c = H[side + 2 * k]
        s = H[side + 2 * k + 1]
        if kept < n:
            pack_column(H, b, c, s, bank + k * BLOCK_ROWS, kept, runs)
            c = bank + k * BLOCK_ROWS
            s = 1
        elif not is_last and c != bank + k * BLOCK_ROWS and b + BANKS <= c and c < b + COLUMNS_AT:  # in the other bank
            for i in range(n):
                H[bank + k * BLOCK_ROWS + i] = H[c + i * s]
            c = bank + k * BLOCK_ROWS
            s = 1
        set_column(H, columns, k, c, s)
    return kept


@kernel
def keep_columns(H, b, bank, n, kept):
    """Only the chosen rows stay in the block's n columns, which then lie in the bank.

    needs:  no column lies there; n <= REGISTERS.
    """
    columns = b + COLUMNS_AT
    for k in range(n):
        pack_column(H, b, H[columns + 2 * k], H[columns + 2 * k + 1], bank + k * BLOCK_ROWS, kept, 0)
        set_column(H, columns, k, bank + k * BLOCK_ROWS, 1)
