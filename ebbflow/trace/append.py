"""Appending: entries of this slice, behind those of earlier slices, which are saved and folded first.

Rule: when a segment is first changed in a slice, everything in it becomes old; when it is first changed in an advance,
it is saved as the advance found it, so that an undo can put it back.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H
from ebbflow.native.structs import Words
from ebbflow.trace.diff_limits import MANY_ENTRIES, WIDE_DIFF, is_large
from ebbflow.trace.failures import DIFF_OVERFLOW, NO_NODE, fail
from ebbflow.trace.folding import compact
from ebbflow.trace.heap import alloc, class_size, copy_words, release, reserve, size_class
from ebbflow.trace.segment import DIFF_AT_MOST, VALUE, Entry, diff_of, stamped
from ebbflow.trace.worker_fields import Segment, Worker


@kernel
def save(worker: Worker, segment: Segment, w: int) -> None:
    """Keep a copy of a segment as the advance found it: `segment, words, entries, content`."""
    n = segment.length * w
    at = worker.undo.length
    u = reserve(worker, worker.undo, at + 3 + n) + at
    u[0] = segment
    u[1] = n
    u[2] = segment.length
    p = segment.pointer
    for i in range(n):
        u[3 + i] = p[i]
    worker.undo.length = at + 3 + n


@kernel
def refresh(worker: Worker, segment: Segment, w: int) -> None:
    """The first touch of a segment in a slice."""
    keeps = worker.saves_segments and segment.stamp < worker.first
    segment.stamp = worker.step
    if keeps and worker.general:
        save(worker, segment, w)  # as it was: a later slice of the advance folds further than the advance may
    if segment.length > segment.old or (worker.general and segment.length):
        compact(worker, segment, w)
    if keeps and not worker.general:
        save(worker, segment, w)


@inline
def touch(worker: Worker, segment: Segment, w: int) -> None:
    if segment.stamp != worker.step:
        refresh(worker, segment, w)


@kernel
def grow_segment(worker: Worker, segment: Segment, w: int) -> None:
    cap = segment.capacity
    n = segment.length * w
    new = class_size(size_class(max(4, n + w, cap + (cap >> 1))))
    q = alloc(worker, new)
    p = segment.pointer
    for i in range(n):
        q[i] = p[i]
    if cap:
        release(worker, p, cap)
    segment.pointer = q
    segment.capacity = new


@kernel
def wide_diff(worker: Worker, segment: Segment, w: int, rank: int, diff: int, values: Words) -> int:
    """A diff that is not like others: it is noted, and refused if an entry cannot hold it.  Returns what it holds.

    leaves: of one that is refused, in REFUSED the segment and the values: whoever tells finds the record.
    """
    worker.refused.wide = 1
    if diff <= DIFF_AT_MOST and diff >= -DIFF_AT_MOST:
        return diff
    if worker.error == 0:
        fail(worker, DIFF_OVERFLOW, NO_NODE, rank, diff)
        p = reserve(worker, worker.refused, w - VALUE + 1)
        p[0] = segment
        copy_words(values, p + 1, w - VALUE)
        worker.refused.length = w - VALUE + 1
    return 0


@kernel
def are_countable(p: Words, n: int, w: int) -> bool:
    """Whether whatever is summed of the diffs of n entries has 62 bits."""
    total = 0
    for e in range(p + 1, p + n * w, w):
        total += abs(diff_of(H[e]))
        if is_large(total):
            return False
    return True


@inline
def is_crowded(worker: Worker, segment: Segment, w: int) -> bool:
    """Whether so many entries have such diffs that a sum of some of them may leave 62 bits."""
    return (
        worker.refused.wide != 0
        and segment.length >= MANY_ENTRIES
        and not are_countable(segment.pointer, segment.length, w)
    )


@inline
def push_entry(worker: Worker, segment: Segment, w: int, rounds: int, rank: int, diff: int, values: Words) -> None:
    """Append an entry of this slice.

    needs:  the segment was touched in this slice.
    """
    n = segment.length
    if (n + 1) * w > segment.capacity:
        grow_segment(worker, segment, w)
    if diff > WIDE_DIFF or diff < -WIDE_DIFF:
        diff = wide_diff(worker, segment, w, rank, diff, values)
    e = Entry(segment.pointer + n * w)
    e.rounds = rounds
    e.stamp = stamped(rank, diff)
    for i in range(w - VALUE):
        e.lanes[i] = values[i]
    segment.length = n + 1
