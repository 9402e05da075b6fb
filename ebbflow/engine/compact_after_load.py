"""Compaction after a load: after a large step, all the tidying that small steps would do in many parts.

A load leaves keys in records that will not be used, batches to be merged, and free blocks. Small steps would work that
off in small parts, scattered over the whole memory; where changed pages are written to disk, each of these steps would
cost as much as a large one.

Rule: it runs between two advances and changes no result.
"""

from __future__ import annotations

from ebbflow.engine import tidy
from ebbflow.engine.index_after_load import index_large_keys
from ebbflow.engine.worker import Worker
from ebbflow.trace import heap as h
from ebbflow.trace import tally
from ebbflow.trace.worker_fields import Vector

LARGE_STEP = 1 << 14  # rows of a step that leaves more to do than the next one should
EFFORT = 1 << 16
TRIM_TURNS = 1 << 12
FEW_WORDS = 1 << 12  # of an empty vector, which it may keep
TRANSIENT = (  # vectors of the header
    *("events", "events2", "values", "delta", "sorted", "undo", "slots", "moments", "stored_in", "stored_out", "seeds"),
    *("bulk", "bulk2", "counts", "draft", "stream", "pair", "runs", "presence_lines"),
)


def compact_after_load(worker: Worker, rows: int) -> None:
    """After a step of so many rows, or more.

    With several coordinates only memory is gathered: histories are folded where an advance begins.
    """
    if not worker.plan.general:
        worker.tidy(EFFORT)
        for node in worker.at:
            index_large_keys(worker.header, node, rows)
    for _ in range(0 if worker.plan.general else TRIM_TURNS):
        worker.tidy(EFFORT)
        if not is_busy(worker):
            break
    worker.heap.gather()


def release_unused(worker: Worker) -> None:
    """After a step that needed too much memory was undone: what it has left to no use is free for others.

    That is the room of vectors that are empty, and keys of which nothing is left.
    """
    for v in transient_vectors(worker):
        v.length = 0
        fit(worker, v)
    for node in worker.at:
        for v in (node.hold, node.owes):
            fit(worker, v)
        if node.table:
            tidy.shrink_table(worker.header, node.table, int(node.owes.length == 0))
        if node.tally:
            tally.spread_tally(worker.header, node.tally, 1)
    worker.heap.gather()
    worker.heap.trim()


def fit(worker: Worker, v: Vector) -> None:
    """A vector that has far more room than content gets less."""
    if v.capacity > FEW_WORDS and v.length * 8 < v.capacity:
        words = worker.heap.vector(v).copy()
        h.drop_vector(worker.header, v)
        h.reserve(worker.header, v, h.FIRST_ROOM)
        worker.heap.load(v, words)


def transient_vectors(worker: Worker) -> list[Vector]:
    """The vectors that hold something only while a step is under way."""
    header = worker.header
    boxes = [header.outboxes, header.other_outboxes]
    found: list[Vector] = [box[i] for box in boxes if box for i in range(int(header.workers))]
    found += [getattr(header, name) for name in TRANSIENT]
    found += [v for node in worker.at for v in (node.buffer, node.call_args, node.call_results)]
    return found + [v for node in worker.at if node.tally for v in (node.tally.open, node.tally.log)]


def is_busy(worker: Worker) -> bool:
    """Whether a table is being swept, or batches merged."""
    for node in worker.at:
        table = node.table
        if table and not node.owes.length:
            if table.hand >= 0 or (table.spine and table.spine.merges.length):
                return True
    return False
