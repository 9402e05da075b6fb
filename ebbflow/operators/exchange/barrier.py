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
from ebbflow.native.structs import At, Struct, Words, several
from ebbflow.operators.exchange.receive import receive_at
from ebbflow.trace.heap import alloc
from ebbflow.trace.worker_fields import Outbox, Vector, Worker


class Arrival(Struct, words=8):
    """The line of a worker at a barrier."""

    arrived: int  # the number of its arrivals
    who: At[Worker]
    published: Words = several(4)  # by parity: the least rounds pending here, and those before a loop's last barrier


# ---- the shared block: a line of words for all, then one for each worker, so that no two write to one line ---
STOPPED = 0  # a worker will not arrive
SPINS, TURNS = 2000, 1 << 10  # polls before the core is yielded; how often it is yielded before the walk returns
FOR_ARRIVING, FOR_WAITING = 1 << 10, 1 << 12  # fuel that arriving and waiting cost, so that the walk returns in time


@inline
def line_of_worker(barrier: int, worker: int) -> Arrival:
    return Arrival(barrier + CACHE_LINE * (worker + 1))


@inline
def outboxes_of(worker: Worker, barrier: int) -> Outbox:
    """The outboxes that a worker fills for a barrier, by the barrier's number."""
    return worker.outboxes if barrier % 2 else worker.other_outboxes


@kernel
def begin_outboxes(worker: Worker, barrier: int) -> None:
    """From here on rows are sent for the barrier of this number; its outboxes are emptied."""
    outboxes = outboxes_of(worker, barrier)
    for i in range(worker.workers):
        outboxes[i].length = 0
    worker.outbox_offset = outboxes - (worker.outboxes)


@kernel
def clear_outboxes(worker: Worker) -> None:
    """Empty the outboxes for all barriers."""
    for barrier in range(2):
        if outboxes_of(worker, barrier):
            begin_outboxes(worker, barrier)
    worker.outbox_offset = 0


@kernel
def open_barrier(at: Words, count: int, block: Words) -> None:
    """A barrier for the workers whose headers are listed at `at`; none has arrived yet.

    needs:  place: a line of words for all, and one for each worker.
    """
    for k in range(CACHE_LINE * (count + 1)):
        block[k] = 0
    for i in range(count):
        worker = Worker(at[i])
        line_of_worker(block, i).who = worker
        worker.barrier = block
        worker.barrier_count = 0
        worker.stage = 0
        if worker.other_outboxes == 0:
            n = Vector.SIZE * worker.workers
            worker.other_outboxes = Outbox(alloc(worker, n))
            for k in range(n):
                Words(worker.other_outboxes)[k] = 0


@kernel
def close_barrier(at: Words, count: int) -> None:
    """The workers have no barrier any more, and their outboxes are empty."""
    for i in range(count):
        clear_outboxes(Worker(at[i]))
        Worker(at[i]).barrier = 0


@inline
def is_stopped(worker: Worker) -> bool:
    """Whether a worker will not arrive."""
    return load_shared(worker.barrier + STOPPED) != 0


@kernel
def wait_for_all(worker: Worker) -> bool:
    """Wait until every worker has arrived as often as this one; False after a timeout, or if one will not arrive."""
    barrier = worker.barrier
    often = worker.barrier_count
    for i in range(worker.workers):
        at = line_of_worker(barrier, i)  # whose first word is the number of arrivals
        spins = 0
        while load_shared(at) < often:
            spins += 1
            if spins > SPINS:
                if is_stopped(worker) or spins > SPINS + TURNS:
                    return False
                worker.fuel -= FOR_WAITING
                yield_core()
    return True


@inline
def arrive(worker: Worker) -> None:
    worker.barrier_count += 1
    worker.fuel -= FOR_ARRIVING
    store_shared(line_of_worker(worker.barrier, worker.me), worker.barrier_count)


@kernel
def receive_all(worker: Worker) -> None:
    """Deliver what every other worker sent here."""
    for i in range(worker.workers):
        v = outboxes_of(line_of_worker(worker.barrier, i).who, worker.barrier_count)[worker.me]
        if v.length:
            receive_at(worker, v.pointer, v.length)


@inline
def published_at(W: Worker, worker: int, barrier: int) -> Words:
    """Where a worker publishes what is pending at it, for the barrier of this number."""
    return line_of_worker(W.barrier, worker).published + 2 * (barrier % 2)


@inline
def publish_least(worker: Worker) -> None:
    """Publish what is pending here, for the next barrier."""
    at = published_at(worker, worker.me, worker.barrier_count + 1)
    at[0] = worker.best
    at[1] = worker.early


@kernel
def agree_on(worker: Worker) -> None:
    """The least rounds that are pending at any worker, from what each has published.

    If no worker has anything to do before the last barrier of the round, nothing will be sent before it: the
    round is quiet.
    """
    least = worker.best
    early = worker.early
    for i in range(worker.workers):
        at = published_at(worker, i, worker.barrier_count)
        least = min(least, at[0])
        early = min(early, at[1])
    worker.agreed = least
    worker.quiet = 1 if early > least else 0
