"""A fresh heap for one test, and what lies on it as plain Python values.

A bench is a worker's heap with nothing on it but a header: rounds of some depth, and a clock of some coordinates.
Tables are laid as a worker lays them.

Rule: nothing here computes what a kernel computes; it only writes words down and reads them back.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import numpy as np

from ebbflow.engine.plan_layout import lay_table
from ebbflow.operators import block
from ebbflow.operators import node as kinds
from ebbflow.trace import heap as h
from ebbflow.trace import segment as s
from ebbflow.trace import table as t
from ebbflow.trace.append import push_entry, touch
from ebbflow.trace.clock import intern_time, mark_complete, respread
from ebbflow.trace.diff_limits import LAST
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.reserved_heap import Heap
from ebbflow.trace.worker_fields import Segment, Vector

SMALL = 1 << 24

Entry = tuple[int, int, int, tuple[int, ...]]  # rounds, rank, diff, values


class Bench:
    def __init__(self, depth: int = 1, coordinates: int = 1, general: bool = False, reserve: int = SMALL):
        self.heap = Heap(reserve)
        self.H, self.W, self.header = self.heap.H, self.heap.W, self.heap.header
        self.depth, self.coordinates = depth, coordinates
        self.bits = 62 // depth - 1
        self.shift = [(depth - 1 - d) * (self.bits + 1) for d in range(depth)]
        self.header.guard = sum(1 << (shift + self.bits) for shift in self.shift)
        self.header.bits, self.header.coords, self.header.general = self.bits, coordinates, int(general)
        self.header.workers = 1
        self.header.step = self.header.first = 1
        self.header.block = h.alloc(self.W, block.Block.SIZE)
        if general:
            respread(self.W, 64)
            self.frontiers()

    def least_rounds(self, nd: int) -> int:
        """The least rounds with something pending at a node that has a bucket."""
        buckets = kinds.Node(nd).buckets
        return int(kinds.Bucket(buckets.pointer + buckets.length)[-1].rounds)

    def words(self, p: int, n: int) -> list[int]:
        return self.H[p : p + n].tolist()

    def vector(self, v: int) -> list[int]:
        return self.heap.vector(Vector(v)).tolist()

    # ---- times

    def rounds(self, *fields: int) -> int:
        """A rounds word."""
        return sum(field << shift for field, shift in zip(fields, self.shift, strict=True))

    def fields(self, rounds: int) -> tuple[int, ...]:
        return tuple((rounds >> shift) & ((1 << self.bits) - 1) for shift in self.shift)

    def frontiers(self, lower: Iterable[Sequence[int]] = (), upper: Iterable[Sequence[int]] = ()) -> None:
        """Where histories fold, and what is complete: everything, unless told."""
        lower = [x for time in lower for x in time]
        self.heap.load(self.header.lower, np.array(lower, np.int64))
        h.reserve(self.W, self.header.lower, len(lower) + 2 * self.coordinates)
        self.heap.load(self.header.upper, np.array([x for time in upper for x in time], np.int64))
        mark_complete(self.W, 0)

    def rank(self, time: Sequence[int]) -> int:
        p = int(self.header.row.pointer)
        self.H[p : p + len(time)] = time
        return int(intern_time(self.W, p))

    def time(self, rank: int) -> tuple[int, ...]:
        return tuple(self.heap.vector(self.header.times).reshape(-1, self.coordinates)[rank].tolist())

    def next_slice(self) -> None:
        self.header.step += 1

    # ---- structures

    def segment(self) -> int:
        return self.heap.zeros(5)

    def push(self, sg: int, w: int, rounds: int, rank: int, diff: int, values: Sequence[int]) -> None:
        """An entry of this slice, as a visit adds it."""
        touch(self.W, sg, w)
        p = self.heap.keep(values)
        push_entry(self.W, sg, w, rounds, rank, diff, p)
        h.release(self.W, p, max(1, len(values)))

    def entries(self, sg: int, w: int) -> list[Entry]:
        return entries(self.H, sg, w)

    def old(self, sg: int) -> int:
        """How many of a segment's entries are from earlier slices."""
        return int(Segment(sg).old)

    def node(self, kind: int, keys: int = 0, widths: Sequence[int] = (), lanes: int = 0, folds: int = 0) -> int:
        """A node; with keys, it has a table with a family of each width."""
        nd = self.heap.zeros(kinds.Node.SIZE)
        kinds.Node(nd).kind, kinds.Node(nd).lanes = kind, lanes
        kinds.Node(nd).least, kinds.Node(nd).most_rounds = LAST, -1
        kinds.Node(nd).choice = kinds.Choice(self.heap.zeros(kinds.Choice.SIZE))
        if keys:
            lay_table(self.heap, kinds.Node(nd), keys, list(widths), folds=folds)
        return nd

    def table(self, nd: int) -> int:
        return int(kinds.Node(nd).table)

    def pending(self, nd: int) -> list[tuple[int, list[int]]]:
        """Rounds and items of a node's buckets, in the order in which they lie."""
        words = self.vector(kinds.Node(nd).buckets)
        found = []
        for b in range(0, len(words), kinds.Bucket.SIZE):
            bucket = kinds.Bucket(kinds.Node(nd).buckets.pointer + b)
            found.append((int(bucket.rounds), self.words(int(bucket.items.pointer), int(bucket.items.length))))
        return found

    def record(self, tb: int, key: Sequence[int]) -> int:
        """The record of a key, added if it is not there."""
        p = self.heap.keep(key)
        code = hash_lanes(p, len(key))
        rc = t.find(tb, p, code) or t.add_key(self.W, tb, p, code)
        h.release(self.W, p, max(1, len(key)))
        return int(rc)


def entries(H, sg: int, w: int) -> list[Entry]:
    """A segment's entries."""
    p, n = int(Vector(sg).pointer), int(Vector(sg).length)
    rows = H[p : p + n * w].reshape(n, w).tolist()
    return [(row[0], row[1] >> s.DIFF_BITS, (row[1] & s.DIFF_MASK) - s.BIAS, tuple(row[2:])) for row in rows]


def records(H, tb: int) -> list[int]:
    """The addresses of a table's records."""
    slots = int(t.Table(tb).slots)
    found = H[slots : slots + int(t.Table(tb).mask) + 1] & t.ADDRESS
    return found[found != 0].tolist()


def lane(x: float) -> int:
    """The lane of a double."""
    (bits,) = struct.unpack("<q", struct.pack("<d", x + 0.0))
    return bits if bits >= 0 else bits ^ 0x7FFF_FFFF_FFFF_FFFF


def real(lane: int) -> float:
    """The double of a lane."""
    return struct.unpack("<d", struct.pack("<q", lane if lane >= 0 else lane ^ 0x7FFF_FFFF_FFFF_FFFF))[0]
