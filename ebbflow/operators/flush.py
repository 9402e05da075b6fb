"""The rows in a node's buffer move on to the nodes behind its edges.

Rule: after a flush the buffer is empty, and its rows are with the nodes behind, or in outboxes.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.block import BLOCK_ROWS
from ebbflow.operators.edges import Edge, deliver_buffer
from ebbflow.operators.node import Node
from ebbflow.operators.pour import pour, pour_buffer, takes_blocks
from ebbflow.trace.heap import Worker, drop_vector

HEAVY = 8  # words for each row of the smallest bulk: a buffer of so many is emptied before it grows
HUGE_BUFFER = 1 << 20  # words of a buffer that is not kept for the next rows
EVERY, SINGLE = 0, 1  # which edges: all, or those that take rows one by one


@kernel
def flush_edges(worker: Worker, node: Node, which: int) -> None:
    """Hand the node's buffered rows to the nodes behind all of its edges, or behind those that take them singly."""
    n = node.buffer.length
    if n == 0:
        return
    was_bulk = worker.delivers_bulk
    if n >= worker.seal * (node.lanes + 3) and worker.general == 0:
        worker.delivers_bulk = 1
    for k in range(node.edge_count):
        edge = Edge(node.edges[k])
        if not takes_blocks(worker, node, edge, n // (node.lanes + 3) if which == EVERY else worker.poured):
            deliver_buffer(worker, node, edge)
        elif which == EVERY:
            pour_buffer(worker, node, edge)
    worker.delivers_bulk = was_bulk
    node.buffer.length = 0
    if node.buffer.capacity >= HUGE_BUFFER:
        drop_vector(worker, node.buffer)
    node.least = (1 << 62) + ((1 << 62) - 1)


@kernel
def flush(worker: Worker, node: Node) -> None:
    """Hand the node's buffered rows to the nodes behind its edges."""
    flush_edges(worker, node, EVERY)


@inline
def is_heavy(worker: Worker, node: Node) -> bool:
    """Whether the rows in a node's buffer are worth moving on before there are more: they are still in the cache."""
    return node.buffer.length >= worker.seal * max(HEAVY, node.lanes + 3)


@kernel
def flush_joins(worker: Worker, node: Node) -> None:
    """The rows that the node's visits made its joins emit move on."""
    for family in range(2):
        p = node.readers[family].joins
        for i in range(node.readers[family].count):
            flush(worker, Node(p[2 * i]))


@inline
def lighten_joins(worker: Worker, node: Node, family: int) -> None:
    """The same in the midst of many visits, of joins that read a family and whose rows are worth it."""
    p = node.readers[family].joins
    for i in range(node.readers[family].count):
        if is_heavy(worker, Node(p[2 * i])):
            flush(worker, Node(p[2 * i]))


@kernel
def drain(worker: Worker) -> None:
    """Send on the corrections of totals once they are many, while more rows come in."""
    nodes = worker.nodes
    for i in range(worker.node_count):
        node = Node(nodes[i])
        if node.tally and is_heavy(worker, node):
            flush(worker, node)


@kernel
def pour_all(  # wide: rows as they lie, with their ranks and diffs
    worker: Worker,
    node: Node,
    edge: Edge,
    rows_at: int,
    lane_step: int,
    ranks: int,
    rstep: int,
    diffs: int,
    dstep: int,
    n: int,
) -> None:
    """Rows that lie column by column go through an edge, block by block."""
    at = 0
    while at < n and worker.error == 0:
        m = min(BLOCK_ROWS, n - at)
        pour(
            worker,
            node,
            edge,
            rows_at + at,
            1,
            lane_step,
            0,
            Words(ranks + at * rstep),
            rstep,
            Words(diffs + at * dstep),
            dstep,
            m,
        )
        at += m
        drain(worker)


@kernel
def pour_columns(  # wide: rows as they lie, with their ranks and diffs
    worker: Worker, node: Node, rows_at: int, lane_step: int, ranks: int, rstep: int, diffs: int, dstep: int, n: int
) -> int:
    """Rows that lie column by column go through the edges that take blocks.  Returns whether there are other edges."""
    others = False
    worker.poured = n
    was_bulk = worker.delivers_bulk
    worker.delivers_bulk = 1 if n >= worker.seal and worker.general == 0 else 0
    for k in range(node.edge_count):
        edge = Edge(node.edges[k])
        if not takes_blocks(worker, node, edge, n):
            others = True
            continue
        pour_all(worker, node, edge, rows_at, lane_step, ranks, rstep, diffs, dstep, n)
        worker.inserts += n
    worker.delivers_bulk = was_bulk
    return others
