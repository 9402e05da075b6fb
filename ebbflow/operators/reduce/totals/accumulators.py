"""Accumulators: reductions that need the sum of a key's rows and not the rows.

A table that folds has, beside the input segment, a segment of accumulators: `rounds, 0, words`. The rows of a slice are
stored raw in the input segment; the next slice that changes the key adds them to the accumulator of their rounds.

Rule: an accumulator is an element of an Abelian group: adding and removing the same rows in any order gives zero.
"""

from __future__ import annotations

from ebbflow.columns.exact_sums import FLOAT_WORDS, INT_WORDS, float_add, float_merge, int_add, int_merge
from ebbflow.columns.schema import NULL
from ebbflow.columns.wide_sums import WIDE_WORDS, wide_add, wide_merge
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H
from ebbflow.native.structs import Struct, Words, several
from ebbflow.trace.append import grow_segment, save, touch
from ebbflow.trace.diff_limits import is_large, size_bits
from ebbflow.trace.folding import shrink
from ebbflow.trace.heap import reserve
from ebbflow.trace.merge_pass import SUMS_FAMILY
from ebbflow.trace.rounds import rounds_precede
from ebbflow.trace.segment import BIAS, VALUE, Entry, diff_of
from ebbflow.trace.table import Marks, Record, Table
from ebbflow.trace.worker_fields import Segment, Worker


class SumColumn(Struct):
    """A column to add up."""

    lane: int  # which value lane; of a decimal that is two words, the first
    shape: int  # INT_SUM, FLOAT_SUM, WIDE_SUM or ONLY_COUNT
    at: int  # where in the accumulator its words begin


class Sums(Struct):
    """What to add up."""

    words: int  # of an accumulator
    column_count: int
    columns: SumColumn = several(0)


ONLY_COUNT, INT_SUM, FLOAT_SUM, WIDE_SUM = 0, 1, 2, 3


@kernel
def add_row(spec: Sums, acc: Words, values: Words, diff: int) -> int:
    """Add a row of values, diff times: the count, then per column its non-null count and its sum.

    leaves: how large the counts are, and the upper words of sums of integers, in bits: `is_large` tells of them.
    """
    acc[0] += diff
    bits = size_bits(acc[0])
    c = spec.columns
    for _ in range(spec.column_count):
        x = values[c.lane]
        if x != NULL:
            at = acc + c.at
            at[0] += diff
            bits |= size_bits(at[0])
            if c.shape == INT_SUM:
                int_add(at + 1, x, diff)
                bits |= size_bits(at[INT_WORDS])
            elif c.shape == FLOAT_SUM:
                float_add(at + 1, x, diff)
            elif c.shape == WIDE_SUM:
                wide_add(at + 1, x, values[c.lane + 1], diff)
                bits |= size_bits(at[WIDE_WORDS])
        c = c[1]
    return bits


@kernel
def are_sums_countable(worker: Worker, table: Table, record: Record) -> bool:
    """Whether each of a key's accumulators stays within 62 bits when the rows that wait are folded into it.

    needs:  some diffs are wide.
    """
    spec = Sums(table.folds)
    segment = Marks(record + table.keys).segments
    acc = segment[SUMS_FAMILY]
    w = table.widths[0]
    total = 0
    for e in range(segment.pointer + 1, segment.pointer + segment.length * w, w):
        total += abs(diff_of(H[e]))
        if is_large(total):
            return False
    q = acc.pointer + VALUE
    for _ in range(acc.length):
        if is_large(size_bits(q[0]) + total):
            return False
        c = spec.columns
        for _ in range(spec.column_count):
            if is_large(size_bits(q[c.at]) + total):
                return False
            c = c[1]
        q += spec.words + VALUE
    return True


@kernel
def add_sums(spec: Sums, acc: Words, other: Words) -> None:
    """Add one accumulator to another."""
    acc[0] += other[0]
    c = spec.columns
    for _ in range(spec.column_count):
        at = c.at
        acc[at] += other[at]
        if c.shape == INT_SUM:
            int_merge(acc + at + 1, other + at + 1)
        elif c.shape == FLOAT_SUM:
            float_merge(acc + at + 1, other + at + 1)
        elif c.shape == WIDE_SUM:
            wide_merge(acc + at + 1, other + at + 1)
        c = c[1]


@kernel
def fold(worker: Worker, table: Table, record: Record) -> None:
    """Add the raw rows of earlier slices to the accumulators of their rounds; accumulators that are zero go."""
    spec = Sums(table.folds)
    words = spec.words
    segment = Marks(record + table.keys).segments
    acc = segment[SUMS_FAMILY]
    w = table.widths[0]
    aw = words + VALUE
    first = acc.stamp < worker.first
    acc.stamp = worker.step
    p = segment.pointer
    for i in range(segment.length):
        e = p + i * w
        a = Entry(0)
        q = acc.pointer
        for j in range(acc.length):
            if q[j * aw] == e[0]:
                a = Entry(q + j * aw)
                break
        if a == 0:
            n = acc.length
            if (n + 1) * aw > acc.capacity:
                grow_segment(worker, acc, aw)
            a = Entry(acc.pointer + n * aw)
            a.rounds = e[0]
            a.stamp = BIAS
            for k in range(words):
                a.lanes[k] = 0
            acc.length = n + 1
        add_row(spec, a.lanes, e + VALUE, diff_of(e[1]))
    segment.length = 0
    segment.old = 0
    shrink(worker, segment, w)
    o = 0
    q = acc.pointer
    for j in range(acc.length):
        zero = True
        for k in range(words):
            if q[j * aw + VALUE + k] != 0:
                zero = False
                break
        if not zero:
            if o != j:
                for k in range(aw):
                    q[o * aw + k] = q[j * aw + k]
            o += 1
    acc.length = o
    acc.old = o
    shrink(worker, acc, aw)
    if first and worker.saves_segments:
        save(worker, acc, aw)


@inline
def touch_input(worker: Worker, table: Table, record: Record, segment: Segment, w: int) -> None:
    """The first touch of a key's input in a slice: fold to sums, or to old entries."""
    if table.folds:
        if segment.stamp != worker.step:
            first = segment.stamp < worker.first
            fold(worker, table, record)
            segment.stamp = worker.step
            if first and worker.saves_segments:
                save(worker, segment, w)
    else:
        touch(worker, segment, w)


@kernel
def gather_sums(worker: Worker, table: Table, record: Record, rounds: int) -> Words:
    """The sum of the accumulators whose rounds precede these, in STATE; returns its address."""
    spec = Sums(table.folds)
    words = spec.words
    acc = Marks(record + table.keys).segments[SUMS_FAMILY]
    aw = words + VALUE
    s = reserve(worker, worker.state, words)
    for k in range(words):
        s[k] = 0
    q = acc.pointer
    for j in range(acc.length):
        if rounds_precede(q[j * aw], rounds, worker.guard):
            add_sums(spec, s, q + j * aw + VALUE)
    return s


def sums_spec(columns) -> list[int]:
    """The words at FOLDS for columns given as (lane, shape); the accumulator has word 0 for the count of rows."""
    words = [0, len(columns)]
    at = 1
    for lane, shape in columns:
        words += [lane, shape, at]
        at += 1 + {ONLY_COUNT: 0, INT_SUM: INT_WORDS, FLOAT_SUM: FLOAT_WORDS, WIDE_SUM: WIDE_WORDS}[shape]
    words[0] = at
    return words
