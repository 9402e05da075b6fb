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
from ebbflow.trace import tally
from ebbflow.trace.segment import VALUE
from tests.trace.heaps import entries, records

Kept = dict[tuple, int]  # (rounds, time, values) -> diff


Antichain = tuple[tuple[int, ...], ...]


def time_of(worker: Worker, rank: int, lower: Antichain = ()) -> tuple[int, ...]:
    """A rank's time, as readers from `lower` on see it; what one coordinate's earlier slices left has none."""
    if not worker.plan.general:
        return ()
    c = len(worker.plan.graph.coordinates)
    time = worker.heap.vector(worker.W + h.TIMES).reshape(-1, c)[rank]
    return tuple(advance(time, np.array(lower, np.int64).reshape(-1, c)).tolist())


def kept(worker: Worker, lower: Antichain = ()) -> dict[int, dict[tuple[int, ...], tuple[Kept, ...]]]:
    """By cell and key, what the key's families hold; keys of which nothing is left do not count."""
    H, found = worker.H, {}
    for cell, nd in zip(worker.plan.cells, worker.at, strict=True):
        tb = int(H[nd + kinds.TB])
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
    H, ty, found = worker.H, int(worker.H[nd + kinds.TALLY_AT]), {}
    for i in range(int(H[ty + tally.T_MASK]) + 1 if ty else 0):
        nk, words = int(H[ty + tally.T_KEYS]), int(H[ty + tally.T_WORDS])
        e = int(H[ty + tally.T_SLOTS]) + i * (1 + nk + words)
        total = tuple(H[e + 1 + nk : e + 1 + nk + words].tolist())
        if H[e] and any(total):
            found[tuple(H[e + 1 : e + 1 + nk].tolist())] = ({total: 1},)
    assert not ty or H[ty + tally.T_OPEN + h.LEN] == 0
    return found


def families_of(worker: Worker, tb: int, rc: int, lower: Antichain) -> tuple[Kept, ...]:
    if worker.H[tb + t.FOLDS]:
        return ({}, family_of(worker, tb, rc, 1, lower), totals_of(worker, tb, rc))
    return tuple(family_of(worker, tb, rc, f, lower) for f in range(int(worker.H[tb + t.FAMILIES])))


def family_of(worker: Worker, tb: int, rc: int, family: int, lower: Antichain) -> Kept:
    total: Counter = Counter()
    sg, width = int(t.segment_of(worker.H, tb, rc, family)), int(worker.H[tb + t.WIDTH + family])
    for rounds, rank, diff, values in entries(worker.H, sg, width):
        total[rounds, time_of(worker, rank, lower), values] += diff
    return {key: diff for key, diff in total.items() if diff}


def totals_of(worker: Worker, tb: int, rc: int) -> Kept:
    """A key's accumulators, with the rows that wait to be added."""
    H, W, spec = worker.H, worker.W, int(worker.H[tb + t.FOLDS])
    words, found = int(H[spec + accumulators.WORDS]), {}
    for family in (0, accumulators.SUMS_FAMILY):
        sg, width = int(t.segment_of(H, tb, rc, family)), int(H[tb + t.WIDTH + family])
        for i, (rounds, _, diff, _) in enumerate(entries(H, sg, width)):
            acc = found.setdefault(rounds, worker.heap.zeros(words))
            values = int(H[sg + h.PTR]) + i * width + VALUE
            if family == 0:
                accumulators.add_row(H, spec, acc, values, diff)
            else:
                accumulators.add_sums(H, spec, acc, values)
    totals = {rounds: tuple(H[acc : acc + words].tolist()) for rounds, acc in found.items()}
    for acc in found.values():
        h.release(H, W, acc, words)
    return {(rounds, total): 1 for rounds, total in totals.items() if any(total)}


def waiting(worker: Worker) -> dict[str, list]:
    """What is held for, or owed at, times to come, in the order of its words; and all that must be empty."""
    H, W, state = worker.H, worker.W, {"held": [], "owed": [], "pending": [], "mail": []}
    for cell, nd in zip(worker.plan.cells, worker.at, strict=True):
        words, at = worker.heap.vector(nd + kinds.HOLD).tolist(), 0
        while at < len(words):
            n, rounds, rank, diff = words[at : at + 4]
            state["held"].append((cell.number, rounds, time_of(worker, rank), diff, *words[at + 4 : at + 4 + n]))
            at += 4 + n
        words = worker.heap.vector(nd + kinds.OWES).tolist()
        for rc, rounds, rank in zip(words[::3], words[1::3], words[2::3], strict=True):
            key = tuple(H[rc : rc + len(cell.key)].tolist())
            state["owed"].append((cell.number, key, rounds, time_of(worker, rank)))
        if H[nd + kinds.BUCKETS + h.LEN] or H[nd + kinds.BUFFER + h.LEN]:
            state["pending"].append(cell.number)
    state["mail"] = [i for i in range(64) if H[W + h.OUTBOXES + h.VECTOR * i + h.LEN]]
    return {name: sorted(items) for name, items in state.items()}


def state(worker: Worker, lower: Antichain = ()) -> tuple:
    return kept(worker, lower), waiting(worker)
