"""Settling down: after a large step, at once what small ones would do little by little.

A load leaves keys in records that nobody will touch, batches that are to be merged, blocks that are free.  Small steps
work that off in small parts, scattered over the whole memory; where what was touched has to be written, each of them
would cost as if it were large.

Rule: it is done between two advances, and nothing that it does can be seen in a result.
"""

from __future__ import annotations

from ebbflow.operators import node as kinds
from ebbflow.runtime.worker import Worker
from ebbflow.trace import heap as h
from ebbflow.trace import spine as spines
from ebbflow.trace import table as tables

LARGE_STEP = 1 << 14  # rows of a step that leaves more to do than the next one should
EFFORT = 1 << 16
TURNS = 1 << 12


def settle_down(worker: Worker) -> None:
    """With one coordinate; with several, histories are folded where an advance begins, and keys stay where they are."""
    for _ in range(0 if worker.plan.general else TURNS):
        worker.tidy(EFFORT)
        if not is_busy(worker):
            break
    worker.heap.gather()


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
