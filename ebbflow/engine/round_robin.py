"""Round robin: the workers of one process run in turns, and the rows in their outboxes are delivered from heap to heap.

Each worker walks to the next point at which the plan exchanges rows; then outboxes are delivered and, at the head of a
loop, the next round is agreed on. If all workers of the program are here, whole steps run without returning to Python;
otherwise the turn ends at the barrier with what is to be sent elsewhere.

Rule: rows are delivered in the order of their senders, so a worker's state does not depend on which workers share a
process.
"""

from __future__ import annotations

from ebbflow.engine.walk import AT_BARRIER, FINISHED, FULL, INSTRUCTION, NOTHING, least_in, walk
from ebbflow.native.kernel import kernel
from ebbflow.operators.edges import receive_at
from ebbflow.operators.exchange.outbox import least_in_outbox, outbox_for
from ebbflow.operators.node import B_BULK, B_ITEMS, B_PARTITIONS, BUCKET, BUCKETS, BUFFER, PENDING_HEAD, row_lanes
from ebbflow.trace.heap import AGREED, FUEL, LEN, LOOP_AT, ME, NODE_COUNT, NODES, OUTBOXES, PHASE, PTR, REASON, VECTOR
from ebbflow.trace.packed_rows import ROWS


@kernel
def deliver_outboxes(H, at, count):
    """Deliver the outboxes of the workers whose headers are listed at `at` to each other."""
    for i in range(count):
        to = H[at + i]
        for j in range(count):
            v = H[at + j] + OUTBOXES + VECTOR * H[to + ME]
            n = H[v + LEN]
            if n:
                receive_at(H, to, H[v + PTR], n)
                H[v + LEN] = 0


@kernel
def agree(H, at, count):
    """All workers are here: agree on the round of the loop at whose barrier they are, and let them continue."""
    first = H[at]
    loop = H[first + LOOP_AT]
    if loop:
        best = NOTHING
        for i in range(count):
            W = H[at + i]
            r = least_in(H, W, H[W + LOOP_AT])
            if r < best:
                best = r
        for i in range(count):
            H[H[at + i] + AGREED] = best
    for i in range(count):
        H[H[at + i] + PHASE] = 1


@kernel
def take_turns(H, at, count, turn, alone):
    """Walk one worker after the other, from `turn` on.

    leaves: the number of the worker that needs Python, its reason in REASON; `count` when all have finished or, if
            they are not alone, when all have come to the barrier.
    """
    i = turn
    while True:
        while i < count:
            W = H[at + i]
            H[W + FUEL] = FULL
            reason = walk(H, W)
            H[W + REASON] = reason
            if reason != FINISHED and reason != AT_BARRIER:
                return i
            i += 1
        if H[H[at] + REASON] == FINISHED or alone == 0:
            return count
        deliver_outboxes(H, at, count)
        agree(H, at, count)
        i = 0


@kernel
def least_sent(H, W, other, start):
    """The least rounds that rows sent to another worker bring into the loop at which this worker stands.

    needs:  start: where the plan's program begins in this heap.
    """
    pc = H[W + LOOP_AT]
    first = (pc - start) // INSTRUCTION
    past = (H[pc + 1] - start) // INSTRUCTION
    return least_in_outbox(H, W, outbox_for(H, W, other), first, past)


@kernel
def pending_words(H, W):
    """How much waits at the nodes of a worker: the words of its buffers and buckets."""
    total = 0
    for i in range(H[W + NODE_COUNT]):
        nd = H[H[W + NODES] + i]
        total += H[nd + BUFFER + LEN]
        p = H[nd + BUCKETS + PTR]
        for b in range(0, H[nd + BUCKETS + LEN], BUCKET):
            total += H[p + b + B_ITEMS + LEN] + H[p + b + B_BULK + LEN]
            if H[p + b + B_PARTITIONS]:
                total += H[H[p + b + B_PARTITIONS] + ROWS] * (PENDING_HEAD + row_lanes(H, nd))
    return total
