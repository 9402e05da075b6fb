"""A host that has only some of a program's workers, as a task of Spark has.

It stops at every barrier: it hands out what its workers send to those elsewhere, and takes in what these sent, before
it goes on. Who drives several such hosts agrees with all of them upon the next round of a loop.

Rule: what is received comes in the order of the senders, so that a task that runs again does the same again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ebbflow.engine import round_robin
from ebbflow.engine.host import Host
from ebbflow.engine.slices import Antichain, Rows
from ebbflow.engine.walk import AT_BARRIER, FAILED, Instruction, least_in
from ebbflow.operators.node import NOTHING

Outboxes = dict[tuple[int, int], np.ndarray]  # words by (from, to)


class AtBarrier(NamedTuple):
    """The state of a host at a barrier with workers that are elsewhere."""

    finished: bool
    outboxes: Outboxes  # for workers elsewhere
    at_loop: bool  # whether the next round of a loop is to be agreed upon
    least: int  # the least rounds pending in it, outboxes included
    pending: int  # pending words, outboxes included: how much there is to do
    loop: tuple[int, int, int] | None = None  # which one, and where its round stands in `least`: shift and bits


def begin(
    host: Host,
    rows: dict[str, Rows],
    times: np.ndarray,
    lower: Antichain,
    upper: Antichain,
    first: bool,
    placed: dict[str, list[tuple[int, Rows]]] | None = None,
) -> None:
    """Begin a slice: its rows are taken in by the workers that are here, `placed` ones by the worker named."""
    for worker in host.workers:
        if first:
            worker.begin_advance(keeping=False, lower=lower)
        worker.slice_times = times
        worker.begin_slice(upper if host.plan.general else ())
    for name, (lanes, at, diffs) in rows.items():
        if host.plan.general:
            host.share_out(name, lanes, [worker.ranks(at) for worker in host.workers], diffs)
        else:
            host.feed(name, lanes, np.searchsorted(times, at[:, 0]) + 1, diffs)
    here = {worker.me: worker for worker in host.workers}
    for name, blocks in (placed or {}).items():
        for number, (lanes, at, diffs) in blocks:
            worker = here[number]
            ranks = worker.ranks(at) if host.plan.general else np.searchsorted(times, at[:, 0]) + 1
            worker.feed(name, lanes, ranks, diffs)


def resume(host: Host, outboxes: Outboxes, agreed: int) -> None:
    """Bring in what was sent, from here and elsewhere, in the order of the senders; then all may go on."""
    senders = sorted({worker.me for worker in host.workers} | {sender for sender, _ in outboxes})
    here = {worker.me: worker for worker in host.workers}
    for worker in host.workers:
        for sender in senders:
            words = outboxes.get((sender, worker.me))  # sent off, though the sender may be here by now
            if words is None and sender in here:
                words = here[sender].outbox_for(worker.me)
            if words is not None and len(words):
                worker.receive(np.ascontiguousarray(words))
    for worker in host.workers:
        worker.header.agreed = agreed
        worker.header.phase = 1


def to_barrier(host: Host, results: dict[str, list[Rows]]) -> AtBarrier:
    """Walk to the next barrier, or to the end of the slice."""
    reasons = host.take_turns(alone=False)
    if FAILED in reasons or AT_BARRIER not in reasons:
        host.collect(reasons, results)
        return AtBarrier(True, {}, False, NOTHING, 0)
    at_loop = bool(host.workers[0].header.loop_at)
    least, pending = NOTHING, 0
    here = {worker.me for worker in host.workers}
    outboxes: Outboxes = {}
    for worker in host.workers:
        header = worker.header
        pending += int(round_robin.pending_words(header))
        if at_loop:
            least = min(least, int(least_in(header, Instruction(header.loop_at))))
        for other in range(int(header.workers)):
            if size := int(header.outboxes[other].length):
                pending += size
                if at_loop:
                    least = min(least, int(round_robin.least_sent(header, other, worker.program)))
                if other not in here:
                    outboxes[worker.me, other] = worker.outbox_for(other)
    return AtBarrier(False, outboxes, at_loop, least, pending, loop_ahead(host) if at_loop else None)


def loop_ahead(host: Host) -> tuple[int, int, int]:
    """The loop at whose head the workers are, and where its round stands in a word of rounds."""
    worker = host.workers[0]
    at = (int(worker.header.loop_at) - worker.program) // Instruction.SIZE
    begin = worker.around[at][-1]
    return begin.loop, worker.shift[begin.depth - 1], int(worker.header.bits)
