"""Round robin: the workers of one process run in turns, and the rows in their outboxes are delivered from heap to heap.

Each worker walks to the next point at which the plan exchanges rows; then outboxes are delivered and, at the head of a
loop, the next round is agreed on. If all workers of the program are here, whole steps run without returning to Python;
otherwise the turn ends at the barrier with what is to be sent elsewhere.

Rule: rows are delivered in the order of their senders, so a worker's state does not depend on which workers share a
process.
"""

from __future__ import annotations

from ebbflow.engine.walk import AT_BARRIER, FINISHED, Instruction, least_in, walk
from ebbflow.native.kernel import kernel
from ebbflow.native.structs import Words
from ebbflow.operators.exchange.outbox import least_in_outbox, outbox_for
from ebbflow.operators.exchange.receive import receive_at
from ebbflow.operators.node import NOTHING, Bucket, Node, PendingRow, row_lanes
from ebbflow.trace.worker_fields import Worker


@kernel
def deliver_outboxes(at: Words, count: int) -> None:
    """Deliver the outboxes of the workers whose headers are listed at `at` to each other."""
    for i in range(count):
        to = Worker(at[i])
        for j in range(count):
            v = Worker(at[j]).outboxes[to.me]
            n = v.length
            if n:
                receive_at(to, v.pointer, n)
                v.length = 0


@kernel
def agree(at: Words, count: int) -> None:
    """All workers are here: agree on the round of the loop at whose barrier they are, and let them continue."""
    first = Worker(at[0])
    loop = Instruction(first.loop_at)
    if loop:
        best = NOTHING
        for i in range(count):
            worker = Worker(at[i])
            r = least_in(worker, Instruction(worker.loop_at))
            if r < best:
                best = r
        for i in range(count):
            Worker(at[i]).agreed = best
    for i in range(count):
        Worker(at[i]).phase = 1


@kernel
def take_turns(at: Words, count: int, turn: int, alone: int, fuel: int) -> int:
    """Walk one worker after the other, from `turn` on, until one of them has used so much fuel, over all its turns.

    leaves: the number of the worker that needs Python, its reason in REASON; `count` when all have finished or, if
            they are not alone, when all have come to the barrier.
    """
    for i in range(count):
        Worker(at[i]).fuel = fuel
    i = turn
    while True:
        while i < count:
            worker = Worker(at[i])
            reason = walk(worker)
            worker.reason = reason
            if reason != FINISHED and reason != AT_BARRIER:
                return i
            i += 1
        if Worker(at[0]).reason == FINISHED or alone == 0:
            return count
        deliver_outboxes(at, count)
        agree(at, count)
        i = 0


@kernel
def least_sent(worker: Worker, other: int, start: int) -> int:
    """The least rounds that rows sent to another worker bring into the loop at which this worker stands.

    needs:  start: where the plan's program begins in this heap.
    """
    pc = Instruction(worker.loop_at)
    first = (pc - start) // Instruction.SIZE
    past = (pc.target - start) // Instruction.SIZE
    return least_in_outbox(worker, outbox_for(worker, other), first, past)


@kernel
def pending_words(worker: Worker) -> int:
    """How much waits at the nodes of a worker: the words of its buffers and buckets."""
    total = 0
    for i in range(worker.node_count):
        node = Node(worker.nodes[i])
        total += node.buffer.length
        p = node.buckets.pointer
        for b in range(0, node.buckets.length, Bucket.SIZE):
            bucket = Bucket(p + b)
            total += bucket.items.length + bucket.bulk.length
            if bucket.items.partitions:
                total += bucket.items.partitions.rows * (PendingRow.SIZE + row_lanes(node))
    return total
