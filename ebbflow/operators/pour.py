"""A block of rows goes through an edge, column by column.

Rule: what arrives is what would arrive if the rows went one by one, in another order.
"""

from __future__ import annotations

from ebbflow.expressions.opcodes import REGISTERS
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.arrive import are_complete, arrive
from ebbflow.operators.block import (
    BANK,
    BLOCK_ROWS,
    MOST_COLUMNS,
    PICK_LANES,
    Block,
    Stage,
    pack_column,
    pick_lanes,
    run_program,
    set_column,
)
from ebbflow.operators.consolidate import absorb_block
from ebbflow.operators.deliver import deliver_singly, has_keys
from ebbflow.operators.edges import Edge, refuse_row, rounds_behind
from ebbflow.operators.exchange.outbox import send_others
from ebbflow.operators.node import OUTPUT, Node, bucket_for, row_lanes
from ebbflow.operators.reduce.totals.fold import run_block
from ebbflow.trace.heap import Worker, reserve
from ebbflow.trace.tally import Tally

WORTH_A_BLOCK = 32  # rows for arrangements and reductions


@inline
def takes_blocks(worker: Worker, node: Node, edge: Edge, n: int) -> bool:
    """Whether an edge takes n rows as a block: to where rows of this worker stay, if it is worth it there."""
    to = edge.to
    if node.lanes > MOST_COLUMNS or edge.to_lanes > MOST_COLUMNS:
        return False
    if worker.workers > 1 and edge.exchange and (to.tally or edge.to_lanes > REGISTERS):
        return False
    if to.kind == OUTPUT or to.tally != 0:
        return True
    return has_keys(to) and n >= min(WORTH_A_BLOCK, worker.seal)


@inline
def is_eager(worker: Worker, tally: Tally) -> bool:
    return tally.eager == 1 or (tally.eager == 2 and worker.in_order == 1)


@kernel
def wait_block(
    worker: Worker, node: Node, ranks: Words, rstep: int, diffs: Words, dstep: int, sign: int, n: int
) -> None:
    """The block's rows wait for their turn at a reduction that keeps sums."""
    v = bucket_for(worker, node, 0).bulk
    lanes = row_lanes(node)
    step = 2 + lanes
    at = v.length
    p = reserve(worker, v, at + n * step) + at
    for i in range(n):
        p[i * step] = ranks[i * rstep]
        p[i * step + 1] = diffs[i * dstep] * sign
    columns = Block(worker.block).columns
    for k in range(lanes):
        c = columns[k].at
        s = columns[k].step
        for i in range(n):
            p[i * step + 2 + k] = c[i * s]
    v.length = at + n * step


@kernel
def refuse_in_block(worker: Worker, node: Node, stage: Stage, row: int, rank: int) -> None:
    """Row number `row` of the block overflowed in a stage."""
    columns = Block(worker.block).columns
    at = worker.row.pointer
    for k in range(stage.reads):
        at[k] = columns[k].at[row * columns[k].step]
    refuse_row(worker, stage, at, node, rank)


@kernel
def pour(  # wide: rows as they lie, with their ranks and diffs
    worker: Worker,
    node: Node,
    edge: Edge,
    rows_at: int,
    row_step: int,
    lane_step: int,
    rounds: int,
    ranks: Words,
    rstep: int,
    diffs: Words,
    dstep: int,
    n: int,
) -> None:
    """A block of rows of the same rounds through an edge, to where it leads.

    needs:  lane k of row i lies at rows_at + i * row_step + k * lane_step, its rank at ranks + i * rstep, its diff at
            diffs + i * dstep; n <= BLOCK_ROWS; the edge takes blocks.
    """
    rounds = rounds_behind(worker, node, edge, rounds, ranks[0])
    if rounds < 0:
        return
    b = Block(worker.block)
    for k in range(node.lanes):
        set_column(b.columns, k, rows_at + k * lane_step, row_step)
    bank, to, sign, stages = b.banks, edge.to, edge.sign, edge.stage_count
    steps = stages + (worker.workers > 1 and edge.exchange != 0)
    for s in range(steps):
        if s == stages:
            kept = send_others(worker, to, edge.to_lanes, bank, rounds, ranks, rstep, diffs, dstep, sign, n)
        else:
            stage = Stage(edge.stages[s])
            if stage.kind == PICK_LANES:
                pick_lanes(b, stage)
                continue
            kept = run_program(worker, b, stage, bank, n, s == steps - 1)
            if kept < 0:
                refuse_in_block(worker, node, stage, -1 - kept, ranks[(-1 - kept) * rstep])
                return
        if kept < n and rstep:
            pack_column(b, ranks, rstep, b.ranks, kept, 0)
            ranks, rstep = b.ranks, 1
        if kept < n and dstep:
            pack_column(b, diffs, dstep, b.diffs, kept, 0)
            diffs, dstep = b.diffs, 1
        n = kept
        bank = b.banks + BANK if bank == b.banks else b.banks
    if n == 0:
        return
    if worker.general and not are_complete(worker, ranks, rstep, n):
        deliver_singly(worker, to, edge.to_lanes, rounds, ranks, rstep, diffs, dstep, sign, n)
    elif to.kind == OUTPUT:
        absorb_block(worker, to, ranks, rstep, diffs, dstep, sign, n)
    elif to.tally == 0:
        arrive(worker, to, rounds, ranks, rstep, diffs, dstep, sign, n)
    elif is_eager(worker, to.tally):
        bucket_for(worker, to, 0)
        run_block(worker, to, ranks, rstep, diffs, dstep, sign, n)
    else:
        wait_block(worker, to, ranks, rstep, diffs, dstep, sign, n)


@kernel
def pour_buffer(worker: Worker, node: Node, edge: Edge) -> None:
    """The rows in a node's buffer go through an edge that takes blocks."""
    width = node.lanes + 3
    n = node.buffer.length // width
    p = node.buffer.pointer
    at = 0
    while at < n and worker.error == 0:
        e = p + at * width
        m = min(BLOCK_ROWS, n - at)
        if node.tally == 0:  # outside loops there are no rounds
            m = 1
            while m < BLOCK_ROWS and at + m < n and e[m * width] == e[0]:
                m += 1
        pour(worker, node, edge, e + 3, width, 1, e[0], e + 1, width, e + 2, width, m)
        at += m
    worker.inserts += n
