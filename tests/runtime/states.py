"""All that a worker keeps between two advances, as plain Python values.

Rule: two states are equal just when nobody can tell them apart: what is folded and what is not yet says the same.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from ebbflow.engine.worker import Worker
from ebbflow.operators import node as kinds
from ebbflow.operators.reduce.totals import accumulators
from ebbflow.times.lattice import advance
from ebbflow.trace import heap as h
from ebbflow.trace import table as t
from ebbflow.trace import tally, worker_fields
from ebbflow.trace.segment import VALUE
from ebbflow.trace.worker_fields import Vector
from tests.trace.heaps import entries, records

Kept = dict[tuple, int]  # (rounds, time, values) -> diff


Antichain = tuple[tuple[int, ...], ...]


def time_of(worker: Worker, rank: int, lower: Antichain = ()) -> tuple[int, ...]:
    """A rank's time, as readers from `lower` on see it; what one coordinate's earlier slices left has none."""
    if not worker.plan.general:
        return ()
    c = len(worker.plan.graph.coordinates)
    time = worker.heap.vector(worker_fields.Worker(worker.W).times).reshape(-1, c)[rank]
    return tuple(advance(time, np.array(lower, np.int64).reshape(-1, c)).tolist())


def kept(worker: Worker, lower: Antichain = ()) -> dict[int, dict[tuple[int, ...], tuple[Kept, ...]]]:
    """By cell and key, what the key's families hold; keys of which nothing is left do not count."""
    H, found = worker.H, {}
    for cell, nd in zip(worker.plan.cells, worker.at, strict=True):
        tb = int(kinds.Node(nd).table)
        if tb and cell.kind != kinds.SETTLE:
            found[cell.number] = keys = {}
            for rc in records(H, tb):
                key = tuple(H[rc : rc + len(cell.key)].tolist())
                families = families_of(worker, tb, rc, lower)
                assert key not in keys
                if any(families):
                    keys[key] = families
            keys |= tallied(worker, nd)
    return found


def tallied(worker: Worker, nd: int) -> dict[tuple[int, ...], tuple[Kept, ...]]:
    """The sums of a node that keeps nothing else."""
    H, ty, found = worker.H, int(kinds.Node(nd).tally), {}
    for i in range(int(tally.Tally(ty).mask) + 1 if ty else 0):
        nk, words = int(tally.Tally(ty).keys), int(tally.Tally(ty).words)
        e = int(tally.Tally(ty).slots) + i * (1 + nk + words)
        total = tuple(H[e + 1 + nk : e + 1 + nk + words].tolist())
        if H[e] and any(total):
            found[tuple(H[e + 1 : e + 1 + nk].tolist())] = ({total: 1},)
    assert not ty or tally.Tally(ty).open.length == 0
    return found


def families_of(worker: Worker, tb: int, rc: int, lower: Antichain) -> tuple[Kept, ...]:
    if t.Table(tb).folds:
        return ({}, family_of(worker, tb, rc, 1, lower), totals_of(worker, tb, rc))
    return tuple(family_of(worker, tb, rc, f, lower) for f in range(int(t.Table(tb).families)))


def family_of(worker: Worker, tb: int, rc: int, family: int, lower: Antichain) -> Kept:
    total: Counter = Counter()
    sg, width = int(t.segment_of(tb, rc, family)), int(t.Table(tb).widths[family])
    for rounds, rank, diff, values in entries(worker.H, sg, width):
        total[rounds, time_of(worker, rank, lower), values] += diff
    return {key: diff for key, diff in total.items() if diff}


def totals_of(worker: Worker, tb: int, rc: int) -> Kept:
    """A key's accumulators, with the rows that wait to be added."""
    H, W, spec = worker.H, worker.W, int(t.Table(tb).folds)
    words, found = int(accumulators.Sums(spec).words), {}
    for family in (0, accumulators.SUMS_FAMILY):
        sg, width = int(t.segment_of(tb, rc, family)), int(t.Table(tb).widths[family])
        for i, (rounds, _, diff, _) in enumerate(entries(H, sg, width)):
            acc = found.setdefault(rounds, worker.heap.zeros(words))
            values = int(Vector(sg).pointer) + i * width + VALUE
            if family == 0:
                accumulators.add_row(spec, acc, values, diff)
            else:
                accumulators.add_sums(spec, acc, values)
    totals = {rounds: tuple(H[acc : acc + words].tolist()) for rounds, acc in found.items()}
    for acc in found.values():
        h.release(W, acc, words)
    return {(rounds, total): 1 for rounds, total in totals.items() if any(total)}


def waiting(worker: Worker) -> dict[str, list]:
    """What is held for, or owed at, times to come, in the order of its words; and all that must be empty."""
    H, W, state = worker.H, worker.W, {"held": [], "owed": [], "pending": [], "mail": []}
    for cell, nd in zip(worker.plan.cells, worker.at, strict=True):
        words, at = worker.heap.vector(kinds.Node(nd).hold).tolist(), 0
        while at < len(words):
            n, rounds, rank, diff = words[at : at + 4]
            state["held"].append((cell.number, rounds, time_of(worker, rank), diff, *words[at + 4 : at + 4 + n]))
            at += 4 + n
        words = worker.heap.vector(kinds.Node(nd).owes).tolist()
        for rc, rounds, rank in zip(words[::3], words[1::3], words[2::3], strict=True):
            key = tuple(H[rc : rc + len(cell.key)].tolist())
            state["owed"].append((cell.number, key, rounds, time_of(worker, rank)))
        if kinds.Node(nd).buckets.length or kinds.Node(nd).buffer.length:
            state["pending"].append(cell.number)
    state["mail"] = [i for i in range(64) if worker_fields.Worker(W).outboxes[i].length]
    return {name: sorted(items) for name, items in state.items()}


def state(worker: Worker, lower: Antichain = ()) -> tuple:
    return kept(worker, lower), waiting(worker)
