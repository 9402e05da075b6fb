"""Steady: the changes of a slice cannot reach the answer of a key, now or at any later round.

Where an answer is the first of a key's values in some order, or that there is one, most changes do not alter it: a row
goes that has a twin, or comes behind the first. Such a key needs no look at its moments, and none at its later rounds.

Rule: a value holds if its count stays above zero whatever is subtracted from it, from these rounds on, by earlier
slices or by this one. Where such values come before all that changed, the answer is that of the earlier slices.
"""

from __future__ import annotations

from ebbflow.columns.schema import NULL
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.answers import BAGGED, MIN, TEXT_ID, TOPPED, lane_compare, row_compare
from ebbflow.operators.reduce.choose import ORDER_STATISTICS
from ebbflow.trace.heap import Worker, same
from ebbflow.trace.rounds import rounds_precede
from ebbflow.trace.segment import VALUE, Entry, diff_of
from ebbflow.trace.worker_fields import Segment

DOUBTED = 64  # from so many more keys that were not steady on
NOW_AND_THEN = 8  # visits


@inline
def comes_first(worker: Worker, node: Node, p: Words, q: Words) -> int:
    """Below zero where the values at p are an answer rather than those at q, zero where they are as good."""
    if node.op == TOPPED:
        return row_compare(worker, node.spec, p, q)
    if node.op == BAGGED:
        c = lane_compare(worker, p[0], q[0], node.spec[1 + 2])
        return c if node.spec[1] == MIN else -c
    return 0


@inline
def is_in_order(node: Node) -> bool:
    """Whether the old entries of a key, which are in the order of their lanes, are in that of the answers as well."""
    spec = node.spec
    if node.op == BAGGED:
        return spec[1] == MIN and spec[1 + 2] != TEXT_ID
    if node.op == TOPPED:
        for i in range(spec[1]):
            at = spec + 2 + 3 * i
            if at[0] != i or at[1] != 0 or at[2] == TEXT_ID:
                return False
    return True


@kernel
def least_rows(worker: Worker, segment: Segment, w: int, rounds: int) -> int:
    """How many rows a key has at least, of any value, at any rounds from these on; zero or less if it may have none."""
    p = segment.pointer
    old = p + segment.old * w
    count = 0
    for at in range(p, p + segment.length * w, w):
        e = Entry(at)
        d = diff_of(e.stamp)
        if d < 0 or (at < old and rounds_precede(e.rounds, rounds, worker.guard)):
            count += d
    return count


@inline
def is_likely_steady(worker: Worker, node: Node) -> bool:
    """Whether it is worth a look: where it seldom was of late, only now and then."""
    return node.choice.doubt < DOUBTED or worker.visits & (NOW_AND_THEN - 1) == 0


@inline
def note_steady(node: Node, was: bool) -> None:
    """Keep in mind whether a key was steady: doubt stays low while one of four is."""
    doubt = node.choice.doubt
    node.choice.doubt = max(doubt - 3, 0) if was else min(doubt + 1, DOUBTED + 12)


@kernel
def is_steady(worker: Worker, node: Node, segment: Segment, w: int, rounds: int) -> bool:
    """Whether what this slice changed of a key cannot be seen in its answers, at these rounds or any later ones.

    needs:  times on one line; all that the key has is in the segment, which was touched in this slice.
    leaves: keys that are to have an index to those who make it.
    """
    old = segment.old
    if old == 0 or ((node.choice.bits >> ORDER_STATISTICS) & 1 and old >= max(worker.index_rows, 1)):
        return False
    guard = worker.guard
    nv = w - VALUE
    bagged = node.op == BAGGED
    p = segment.pointer
    new = p + old * w
    end = p + segment.length * w
    first = Words(0)  # of the values that changed at or before these rounds, the one that an answer would be first
    for at in range(new, end, w):
        e = Entry(at)
        if rounds_precede(e.rounds, rounds, guard) and not (bagged and e.lanes[0] == NULL):
            if first == 0 or (not same(e.lanes, first, nv) and comes_first(worker, node, e.lanes, first) < 0):
                first = e.lanes
    if first == 0:
        return False
    wanted = node.spec[0] if node.op == TOPPED else 1
    at = p
    while at < new and wanted > 0:
        lanes = Entry(at).lanes
        c = comes_first(worker, node, lanes, first)
        if c > 0 and is_in_order(node):
            return False
        count = 0
        less = 0  # what is taken of the value at later rounds, and by this slice
        start = at
        while at < new and (at == start or same(Entry(at).lanes, lanes, nv)):
            e = Entry(at)
            d = diff_of(e.stamp)
            if rounds_precede(e.rounds, rounds, guard):
                count += d
            elif d < 0:
                less += d
            at += w
        if c <= 0 and count + less > 0 and not (bagged and lanes[0] == NULL):
            for x in range(new, end, w):
                e = Entry(x)
                if diff_of(e.stamp) < 0 and same(e.lanes, lanes, nv):
                    less += diff_of(e.stamp)
            wanted -= max(count + less, 0)
    if wanted > 0:
        return False
    return not bagged or least_rows(worker, segment, w, rounds) > 0
