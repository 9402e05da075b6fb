"""Compaction after a load: after a large step, all the tidying that small steps would do in many parts.

A load leaves keys in records that will not be used, batches to be merged, and free blocks. Small steps would work that
off in small parts, scattered over the whole memory; where changed pages are written to disk, each of these steps would
cost as much as a large one.

Rule: it runs between two advances and changes no result.
"""

from __future__ import annotations

from ebbflow.engine import walk as w
from ebbflow.engine.worker import Worker
from ebbflow.operators import node as kinds
from ebbflow.trace import heap as h
from ebbflow.trace import spine as spines
from ebbflow.trace import table as tables
from ebbflow.trace import tally

LARGE_STEP = 1 << 14  # rows of a step that leaves more to do than the next one should
EFFORT = 1 << 16
TURNS = 1 << 12
FEW_WORDS = 1 << 12  # of an empty vector, which it may keep
TRANSIENT = (h.EVENTS, h.EVENTS2, h.VALUES, h.DELTA, h.SORTED, h.UNDO, h.SLOTS, h.MOMENTS, h.STORED_IN, h.STORED_OUT)
TRANSIENT += (h.SEEDS, h.BULK, h.BULK2, h.COUNTS, h.DRAFT, h.STREAM, h.PAIR, h.RUNS, h.PRESENCE_LINES)


def compact_after_load(worker: Worker) -> None:
    """With one coordinate; with several, histories are folded where an advance begins, and keys stay where they are."""
    for _ in range(0 if worker.plan.general else TURNS):
        worker.tidy(EFFORT)
        if not is_busy(worker):
            break
    worker.heap.gather()


def release_unused(worker: Worker) -> None:
    """After a step that needed too much memory was undone: what it has left to no use is free for others.

    That is the room of vectors that are empty, and keys of which nothing is left.
    """
    H, W = worker.H, worker.W
    for v in transient_vectors(worker):
        H[v + h.LEN] = 0
        fit(worker, v)
    for node in worker.at:
        for v in (kinds.HOLD, kinds.OWES):
            fit(worker, node + v)
        if tb := int(H[node + kinds.TB]):
            w.shrink_table(H, W, tb, int(H[node + kinds.OWES + h.LEN] == 0))
        if ty := int(H[node + kinds.TALLY_AT]):
            tally.spread_tally(H, W, ty, 1)
    worker.heap.gather()
    worker.heap.trim()


def fit(worker: Worker, v: int) -> None:
    """A vector that has far more room than content gets less."""
    H, W = worker.H, worker.W
    if H[v + h.CAP] > FEW_WORDS and H[v + h.LEN] * 8 < H[v + h.CAP]:
        words = worker.heap.vector(v).copy()
        h.drop_vector(H, W, v)
        h.reserve(H, W, v, h.FIRST_ROOM)
        worker.heap.load(v, words)


def transient_vectors(worker: Worker) -> list[int]:
    """The vectors that hold something only while a step is under way."""
    H, W = worker.H, worker.W
    outboxes_at = [W + h.OUTBOXES, int(H[W + h.OTHER_OUTBOXES])]
    found = [outboxes + h.VECTOR * i for outboxes in outboxes_at if outboxes for i in range(int(H[W + h.WORKERS]))]
    found += [W + v for v in TRANSIENT]
    found += [node + v for node in worker.at for v in (kinds.BUFFER, kinds.CALL_ARGS, kinds.CALL_RESULTS)]
    tallies = [int(H[node + kinds.TALLY_AT]) for node in worker.at]
    return found + [ty + v for ty in tallies if ty for v in (tally.T_OPEN, tally.T_LOG)]


def is_busy(worker: Worker) -> bool:
    """Whether a table is being swept, or batches merged."""
    H = worker.H
    for node in worker.at:
        tb = int(H[node + kinds.TB])
        if tb and not H[node + kinds.OWES + h.LEN]:
            spine = int(H[tb + tables.SPINE])
            if H[tb + tables.HAND] >= 0 or (spine and H[spine + spines.MERGES + h.LEN]):
                return True
    return False
