"""All that a worker keeps between two advances, as plain Python values.

Rule: two states are equal just when nobody can tell them apart: what is folded and what is not yet says the same.
"""

from __future__ import annotations

from collections import Counter

from ebbflow.operators import node as kinds
from ebbflow.operators.sums import SUMS_FAMILY
from ebbflow.runtime.worker import Worker
from ebbflow.trace import heap as h
from ebbflow.trace import table as t
from tests.trace.heaps import entries, records

Kept = dict[tuple, int]  # (rounds, time, values) -> diff


def time_of(worker: Worker, rank: int) -> tuple[int, ...]:
    """A rank's time; what one coordinate's earlier slices left has none."""
    if not worker.plan.general:
        return ()
    c = len(worker.plan.graph.coordinates)
    return tuple(worker.heap.vector(worker.W + h.TIMES).reshape(-1, c)[rank].tolist())


def kept(worker: Worker) -> dict[int, dict[tuple[int, ...], tuple[Kept, ...]]]:
    """By cell and key, what the key's families hold; keys of which nothing is left do not count."""
    H, found = worker.H, {}
    for cell, nd in zip(worker.plan.cells, worker.at, strict=True):
        tb = int(H[nd + kinds.TB])
        if tb and cell.kind != kinds.SETTLE:
            found[cell.number] = keys = {}
            for rc in records(H, tb):
                key = tuple(H[rc : rc + len(cell.key)].tolist())
                families = families_of(worker, tb, rc)
                assert key not in keys
                if any(families):
                    keys[key] = families
    return found


def families_of(worker: Worker, tb: int, rc: int) -> tuple[Kept, ...]:
    H, found = worker.H, []
    for f in range(int(H[tb + t.FAMILIES])):
        sg, total = int(t.segment_of(H, tb, rc, f)), Counter()
        for rounds, rank, diff, values in entries(H, sg, int(H[tb + t.WIDTH + f])):
            if f == SUMS_FAMILY:  # an accumulator for each rounds, whose words are its value
                total[rounds, values] = 1
            else:
                total[rounds, time_of(worker, rank), values] += diff
        found.append({key: diff for key, diff in total.items() if diff})
    return tuple(found)


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
    state["mail"] = [i for i in range(64) if H[W + h.MAIL + h.VECTOR * i + h.LEN]]
    return {name: sorted(items) for name, items in state.items()}


def state(worker: Worker) -> tuple:
    return kept(worker), waiting(worker)
