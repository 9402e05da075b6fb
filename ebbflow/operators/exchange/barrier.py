"""Barrier: workers in threads wait for each other inside their walks, and read each other's outboxes in place.

Each worker has a cache line of its own in a shared block, written only by itself: how often it has arrived, and the
least rounds pending at it or in its outboxes. A worker that finds that all have arrived reads what was sent to it, and
computes the least rounds pending anywhere.

Rule: what was written for one barrier is overwritten only after all workers have arrived at the next one, and so have
read it.
"""

from __future__ import annotations

from ebbflow.native.kernel import CACHE_LINE, inline, kernel
from ebbflow.native.memory import load_shared, store_shared, yield_core
from ebbflow.operators.edges import receive_at
from ebbflow.trace.heap import (
    AGREED,
    BARRIER,
    BARRIER_COUNT,
    BEST,
    EARLY,
    FUEL,
    LEN,
    ME,
    OTHER_OUTBOXES,
    OUTBOX_OFFSET,
    OUTBOXES,
    PTR,
    QUIET,
    STAGE,
    VECTOR,
    WORKERS,
    alloc,
)

# ---- the shared block: a line of words for all, then one for each worker, so that no two write to one line ---
STOPPED = 0  # a worker will not arrive
ARRIVED, WHO = 0, 1  # of a worker: the number of its arrivals; its header
PUBLISHED = 2  # by parity of the barrier: the least rounds pending here, and those before a loop's last barrier
SPINS, TURNS = 2000, 1 << 10  # polls before the core is yielded; how often it is yielded before the walk returns
FOR_ARRIVING, FOR_WAITING = 1 << 10, 1 << 12  # fuel that arriving and waiting cost, so that the walk returns in time


@inline
def line_of_worker(barrier, worker):
    return barrier + CACHE_LINE * (worker + 1)


@inline
def outboxes_of(H, W, barrier):
    """The outboxes that a worker fills for a barrier, by the barrier's number."""
    return W + OUTBOXES if barrier % 2 else H[W + OTHER_OUTBOXES]


@kernel
def begin_outboxes(H, W, barrier):
    """From here on rows are sent for the barrier of this number; its outboxes are emptied."""
    outboxes = outboxes_of(H, W, barrier)
    for i in range(H[W + WORKERS]):
        H[outboxes + VECTOR * i + LEN] = 0
    H[W + OUTBOX_OFFSET] = outboxes - (W + OUTBOXES)


@kernel
def clear_outboxes(H, W):
    """Empty the outboxes for all barriers."""
    for barrier in range(2):
        if outboxes_of(H, W, barrier):
            begin_outboxes(H, W, barrier)
    H[W + OUTBOX_OFFSET] = 0


@kernel
def open_barrier(H, at, count, block):
    """A barrier for the workers whose headers are listed at `at`; none has arrived yet.

    needs:  place: a line of words for all, and one for each worker.
    """
    for k in range(CACHE_LINE * (count + 1)):
        H[block + k] = 0
    for i in range(count):
        W = H[at + i]
        H[line_of_worker(block, i) + WHO] = W
        H[W + BARRIER] = block
        H[W + BARRIER_COUNT] = 0
        H[W + STAGE] = 0
        if H[W + OTHER_OUTBOXES] == 0:
            n = VECTOR * H[W + WORKERS]
            H[W + OTHER_OUTBOXES] = alloc(H, W, n)
            for k in range(n):
                H[H[W + OTHER_OUTBOXES] + k] = 0


@kernel
def close_barrier(H, at, count):
    """The workers have no barrier any more, and their outboxes are empty."""
    for i in range(count):
        clear_outboxes(H, H[at + i])
        H[H[at + i] + BARRIER] = 0


@inline
def is_stopped(H, W):
    """Whether a worker will not arrive."""
    return load_shared(H[W + BARRIER] + STOPPED) != 0


@kernel
def wait_for_all(H, W):
    """Wait until every worker has arrived as often as this one; False after a timeout, or if one will not arrive."""
    barrier = H[W + BARRIER]
    often = H[W + BARRIER_COUNT]
    for i in range(H[W + WORKERS]):
        at = line_of_worker(barrier, i) + ARRIVED
        spins = 0
        while load_shared(at) < often:
            spins += 1
            if spins > SPINS:
                if is_stopped(H, W) or spins > SPINS + TURNS:
                    return False
                H[W + FUEL] -= FOR_WAITING
                yield_core()
    return True


@inline
def arrive(H, W):
    H[W + BARRIER_COUNT] += 1
    H[W + FUEL] -= FOR_ARRIVING
    store_shared(line_of_worker(H[W + BARRIER], H[W + ME]) + ARRIVED, H[W + BARRIER_COUNT])


@kernel
def receive_all(H, W):
    """Deliver what every other worker sent here."""
    for i in range(H[W + WORKERS]):
        v = outboxes_of(H, H[line_of_worker(H[W + BARRIER], i) + WHO], H[W + BARRIER_COUNT]) + VECTOR * H[W + ME]
        if H[v + LEN]:
            receive_at(H, W, H[v + PTR], H[v + LEN])


@inline
def published_at(H, W, worker, barrier):
    """Where a worker publishes what is pending at it, for the barrier of this number."""
    return line_of_worker(H[W + BARRIER], worker) + PUBLISHED + 2 * (barrier % 2)


@inline
def publish_least(H, W):
    """Publish what is pending here, for the next barrier."""
    at = published_at(H, W, H[W + ME], H[W + BARRIER_COUNT] + 1)
    H[at] = H[W + BEST]
    H[at + 1] = H[W + EARLY]


@kernel
def agree_on(H, W):
    """The least rounds that are pending at any worker, from what each has published.

    If no worker has anything to do before the last barrier of the round, nothing will be sent before it: the
    round is quiet.
    """
    least = H[W + BEST]
    early = H[W + EARLY]
    for i in range(H[W + WORKERS]):
        at = published_at(H, W, i, H[W + BARRIER_COUNT])
        least = min(least, H[at])
        early = min(early, H[at + 1])
    H[W + AGREED] = least
    H[W + QUIET] = 1 if early > least else 0
