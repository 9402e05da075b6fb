"""Block: a few hundred rows, column by column, on their way along an edge.

A block is a list of columns, each an address and a stride; so adjacent rows, adjacent columns and a constant are all
columns. Selecting lanes is selecting columns; an expression program runs over a whole column in each of its steps.

Rule: after `run_stages` the block has the columns, ranks and diffs of the rows that arrive at the next node.
"""

from __future__ import annotations

from ebbflow.expressions.block_interpreter import interpret_block
from ebbflow.expressions.interpreter import interpret
from ebbflow.expressions.opcodes import BLOCK_ROWS, REGISTERS
from ebbflow.limits import COLUMNS
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import load_lane, store_lane
from ebbflow.native.structs import Struct, Words, beside, several
from ebbflow.trace.hashing import mix_in, mixed
from ebbflow.trace.worker_fields import Worker

MOST_GROUPS = 8  # in a block, and of a tally for which it is tried


class Column(Struct):
    """A column of a block: where it begins, and how far apart its items are."""

    at: Words
    step: int


class Block(Struct):
    """The room for a block: per row a hash, the place of an entry, rank, diff, and whether it is kept."""

    hashes: Words = several(BLOCK_ROWS)
    row_targets: Words = several(BLOCK_ROWS)
    ranks: Words = several(BLOCK_ROWS)
    diffs: Words = several(BLOCK_ROWS)
    chosen: Words = several(BLOCK_ROWS)
    firsts: Words = beside("chosen", 0, MOST_GROUPS)  # of the groups of a block: the first row, how many, the entry
    sizes: Words = beside("chosen", MOST_GROUPS, MOST_GROUPS)
    entries: Words = beside("chosen", 2 * MOST_GROUPS, MOST_GROUPS)
    banks: Words = several(2 * REGISTERS * BLOCK_ROWS)  # of registers, by turns the source and the result of a stage
    columns: Column = several(COLUMNS)
    next_columns: Column = several(COLUMNS)  # room to make the next list of columns


class Stage(Struct):
    """A step of an edge: a program, or a choice of lanes."""

    kind: int
    program: Words  # of an expression
    reads: int  # so many lanes
    makes: int  # so many columns
    takes_columns: int  # whether it can run over whole columns
    count: int = beside("program")  # of a choice: so many lanes
    lanes: Words = beside("reads", 0, 0)


BANK = REGISTERS * BLOCK_ROWS
MOST_COLUMNS = COLUMNS  # a room for all of the widest collection: who fills the list need not ask
FEW_LEFT_OUT = 8  # if less than one in so many rows is left out, the others are copied in runs


PICK_LANES, RUN_PROGRAM = 0, 1


@inline
def set_column(columns: Column, k: int, at: int, step: int) -> None:
    columns[k].at = Words(at)
    columns[k].step = step


@inline
def copy_row(columns: Column, row: int, to: Words, lanes: int) -> None:
    """Some lanes of a row of the block, side by side."""
    for k in range(lanes):
        to[k] = columns[k].at[row * columns[k].step]


@kernel
def hash_block(b: Block, nk: int, n: int, mask: int) -> None:
    """The hashes of the first nk lanes of a block's rows, in HASHES: as many bits as the mask has of `hash_lanes`."""
    hashes = b.hashes
    columns = b.columns
    for i in range(n):
        hashes[i] = 0
    for k in range(nk):
        c = columns[k].at
        s = columns[k].step
        for i in range(n):
            hashes[i] = mix_in(hashes[i], c[i * s])
    for i in range(n):
        hashes[i] = mixed(hashes[i]) & mask


@kernel
def pick_lanes(b: Block, stage: Stage) -> None:
    """The columns that a stage picks become the columns of the block."""
    columns = b.columns
    side = columns[MOST_COLUMNS]
    n = stage.count
    for k in range(n):
        lane = stage.lanes[k]
        set_column(side, k, columns[lane].at, columns[lane].step)
    for k in range(2 * n):
        Words(columns)[k] = Words(side)[k]


@kernel
def find_runs(b: Block, n: int, kept: int) -> int:
    """Where nearly all of n rows are kept: the runs of rows that follow each other, in HASHES `first, rows` each.

    leaves: how many runs; 0 if too many rows are left out for it to pay.
    """
    if kept * FEW_LEFT_OUT <= n * (FEW_LEFT_OUT - 1):
        return 0
    chosen = b.chosen
    runs = 0
    start = 0
    while start < kept:
        first = chosen[start]
        low = start + 1  # the run ends between these; what it leaves out before a row never becomes less
        end = kept
        while low < end:
            i = (low + end) >> 1
            if chosen[i] - i == first - start:
                low = i + 1
            else:
                end = i
        b.hashes[2 * runs] = first
        b.hashes[2 * runs + 1] = end - start
        runs += 1
        start = end
    return runs


@kernel
def pack_column(b: Block, c: Words, s: int, to: Words, kept: int, runs: int) -> None:
    """The chosen rows of a column, side by side."""
    if s != 1 or runs == 0:
        for i in range(kept):
            to[i] = c[b.chosen[i] * s]
        return
    for r in range(runs):
        p = c + b.hashes[2 * r]
        n = b.hashes[2 * r + 1]
        for i in range(n):
            store_lane(to + i, load_lane(p + i))
        to += n


@kernel
def run_row_by_row(worker: Worker, b: Block, stage: Stage, bank: Words, n: int) -> int:
    """A program that only runs on rows: on each row, into the bank.

    leaves: in CHOSEN the rows that are kept, and how many; -1 - i if row i overflowed.
    """
    columns = b.columns
    lanes = stage.reads
    outs = stage.makes
    row = worker.row.pointer
    regs = worker.row2.pointer
    kept = 0
    for i in range(n):
        for k in range(lanes):
            row[k] = columns[k].at[i * columns[k].step]
        found = interpret(stage.program, row, regs)
        if found < 0:
            return -1 - i
        if found:
            for k in range(outs):
                bank[k * BLOCK_ROWS + kept] = regs[k]
            b.chosen[kept] = i
            kept += 1
    for k in range(outs):
        set_column(columns, k, bank + k * BLOCK_ROWS, 1)
    return kept


@kernel
def run_program(worker: Worker, b: Block, stage: Stage, bank: Words, n: int, is_last: int) -> int:
    """The block's rows through a program; its result lies in the bank, or is a column that was there.

    needs:  is_last: whether nobody will fill the other bank while these columns are needed.
    leaves: in CHOSEN the rows that are kept, and how many; -1 - i if row i overflowed.
    """
    if stage.takes_columns == 0:
        return run_row_by_row(worker, b, stage, bank, n)
    columns = b.columns
    side = columns[MOST_COLUMNS]
    kept = interpret_block(stage.program, columns, side, bank, b.chosen, n)
    if kept < 0:  # some row overflowed, perhaps one that is not kept: the rows tell
        return run_row_by_row(worker, b, stage, bank, n)
    runs = find_runs(b, n, kept)
    for k in range(stage.makes):
        c = side[k].at
        s = side[k].step
        if kept < n:
            pack_column(b, c, s, bank + k * BLOCK_ROWS, kept, runs)
            c = bank + k * BLOCK_ROWS
            s = 1
        elif not is_last and c != bank + k * BLOCK_ROWS and b.banks <= c and c < b.columns:  # in the other bank
            for i in range(n):
                bank[k * BLOCK_ROWS + i] = c[i * s]
            c = bank + k * BLOCK_ROWS
            s = 1
        set_column(columns, k, c, s)
    return kept


@kernel
def keep_columns(b: Block, bank: int, n: int, kept: int) -> None:
    """Only the chosen rows stay in the block's n columns, which then lie in the bank.

    needs:  no column lies there; n <= REGISTERS.
    """
    columns = b.columns
    for k in range(n):
        pack_column(b, columns[k].at, columns[k].step, Words(bank + k * BLOCK_ROWS), kept, 0)
        set_column(columns, k, bank + k * BLOCK_ROWS, 1)
