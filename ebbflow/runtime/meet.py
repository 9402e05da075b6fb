"""Meetings: the workers of one process take turns, and their mail is carried from heap to heap.

Workers run in step: each walks to the next place where the plan exchanges, then mail is delivered and, at the head of a
loop, the next round agreed upon.  Where all workers are here, whole steps run without coming back to Python; where
some are elsewhere, the turn ends at the meeting with what is to be sent there.

Rule: mail is delivered in the order of its senders, so what a worker holds does not depend on who sat beside whom.
"""

from __future__ import annotations

from ebbflow.columns.kernel import kernel
from ebbflow.operators.edges import receive_at
from ebbflow.operators.mail import least_in_letter, letter_for
from ebbflow.operators.node import (
    B_CROWD,
    B_ITEMS,
    B_PARTS,
    BUCKET,
    BUCKETS,
    BUFFER,
    WAITING,
    row_lanes,
)
from ebbflow.runtime.walk import FINISHED, FULL, INSTRUCTION, MEETS, NOTHING, least_in, walk
from ebbflow.trace.heap import (
    AGREED,
    FUEL,
    LEN,
    MAIL,
    ME,
    NODE_COUNT,
    NODES,
    PHASE,
    PLACE,
    PTR,
    REASON,
    VECTOR,
)
from ebbflow.trace.packed import ROWS


@kernel
def carry(H, at, count):
    """Deliver all mail among the workers whose headers are listed at `at`."""
    for i in range(count):
        to = H[at + i]
        for j in range(count):
            v = H[at + j] + MAIL + VECTOR * H[to + ME]
            n = H[v + LEN]
            if n:
                receive_at(H, to, H[v + PTR], n)
                H[v + LEN] = 0


@kernel
def agree(H, at, count):
    """All workers are here: settle the round of the loop at which they meet, and let them go on."""
    first = H[at]
    loop = H[first + PLACE]
    if loop:
        best = NOTHING
        for i in range(count):
            W = H[at + i]
            r = least_in(H, W, H[W + PLACE])
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
            they are not alone, when all have come to the meeting.
    """
    i = turn
    while True:
        while i < count:
            W = H[at + i]
            H[W + FUEL] = FULL
            reason = walk(H, W)
            H[W + REASON] = reason
            if reason != FINISHED and reason != MEETS:
                return i
            i += 1
        if H[H[at] + REASON] == FINISHED or alone == 0:
            return count
        carry(H, at, count)
        agree(H, at, count)
        i = 0


@kernel
def least_in_mail(H, W, other, start):
    """The least rounds that mail to another worker brings into the loop at which this worker stands.

    needs:  start: where the plan's program begins in this heap.
    """
    pc = H[W + PLACE]
    first = (pc - start) // INSTRUCTION
    past = (H[pc + 1] - start) // INSTRUCTION
    return least_in_letter(H, W, letter_for(H, W, other), first, past)


@kernel
def pending_words(H, W):
    """How much waits at the nodes of a worker: the words of its buffers and buckets."""
    total = 0
    for i in range(H[W + NODE_COUNT]):
        nd = H[H[W + NODES] + i]
        total += H[nd + BUFFER + LEN]
        p = H[nd + BUCKETS + PTR]
        for b in range(0, H[nd + BUCKETS + LEN], BUCKET):
            total += H[p + b + B_ITEMS + LEN] + H[p + b + B_CROWD + LEN]
            if H[p + b + B_PARTS]:
                total += H[H[p + b + B_PARTS] + ROWS] * (WAITING + row_lanes(H, nd))
    return total
