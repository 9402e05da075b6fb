"""Rows that another worker put into its outbox are delivered here.

Rule: an outbox is read in place, once, after the barrier for which it was filled.
"""

from __future__ import annotations

from ebbflow.native.kernel import kernel
from ebbflow.native.structs import Words
from ebbflow.operators.arrive import are_complete, arrive
from ebbflow.operators.block import BLOCK_ROWS, Block, set_column
from ebbflow.operators.deliver import deliver, deliver_singly, has_keys
from ebbflow.operators.exchange.outbox import Run, SentRow, coordinates_behind, end_of_run, row_words
from ebbflow.operators.node import Node
from ebbflow.operators.pour import WORTH_A_BLOCK
from ebbflow.trace.clock import intern_time
from ebbflow.trace.heap import Worker, copy_words


@kernel
def receive_block(worker: Worker, node: Node, rounds: int, at: int, step: int, n: int, m: int) -> None:
    """Deliver m rows of a run, of n lanes each."""
    b = Block(worker.block)
    for k in range(n):
        set_column(b.columns, k, at + SentRow.SIZE + k, step)
    ranks = Words(at)
    rstep = step
    if worker.general:
        for i in range(m):
            b.ranks[i] = intern_time(worker, Words(at + i * step + SentRow.SIZE + n))
        ranks = b.ranks
        rstep = 1
        if not are_complete(worker, ranks, rstep, m):
            deliver_singly(worker, node, n, rounds, ranks, rstep, Words(at + 1), step, 1, m)
            return
    arrive(worker, node, rounds, ranks, rstep, Words(at + 1), step, 1, m)


@kernel
def receive_run(worker: Worker, run: Run, c: int) -> Run:
    """Deliver a run; c: how many coordinates follow each row.  Returns where the next run begins."""
    n = run.lanes
    node = Node(worker.nodes[run.node])
    rounds = run.rounds
    step = row_words(n, c)
    at = run.rows
    end = end_of_run(run, c)
    takes_blocks = has_keys(node) and node.tally == 0
    worth = min(WORTH_A_BLOCK, worker.seal)
    if c == 0 and run.count >= worker.seal:
        worker.delivers_bulk = 1
    while at < end:
        m = min(BLOCK_ROWS, (end - at) // step)
        if takes_blocks and m >= worth:
            receive_block(worker, node, rounds, at, step, n, m)
            at += m * step
            continue
        row = worker.row.pointer
        rank = at[0]
        if c:
            copy_words(at + SentRow.SIZE + n, row, c)
            rank = intern_time(worker, row)
        copy_words(at + SentRow.SIZE, row, n)
        deliver(worker, node, row, rounds, rank, at[1])
        at += step
    worker.delivers_bulk = 0
    return end


@kernel
def receive_at(worker: Worker, p: Words, size: int) -> None:
    """Deliver the outbox of another worker: so many words at p."""
    c = coordinates_behind(worker)
    run = Run(p)
    while run < p + size and worker.error == 0:
        run = receive_run(worker, run, c)
