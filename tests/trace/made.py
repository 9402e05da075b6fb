"""Tables, streams and what lies in them, made and read by tests in plain Python."""

from __future__ import annotations

import numpy as np

from ebbflow.trace import table as t
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.reserved_heap import Heap
from ebbflow.trace.segment import diff_of, rank_of, stamped
from ebbflow.trace.worker_fields import Vector

Entry = tuple  # rounds, rank, diff, values...
SMALL = 1 << 24


def make_heap() -> Heap:
    return Heap(SMALL)


def make_table(heap: Heap, keys: int, widths: list[int]) -> int:
    """A table of keys of so many lanes, with a family of entries for each width."""
    tb = heap.zeros(t.Table.SIZE)
    t.Table(tb).keys, t.Table(tb).families = keys, len(widths)
    t.Table(tb).record = keys + t.marks_words(len(widths))
    t.Table(tb).mask = -1
    for i, width in enumerate(widths):
        t.Table(tb).widths[i] = width
    t.resize(heap.W, tb, 16)
    return tb


def hash_of(heap: Heap, key: tuple) -> np.int64:
    return np.int64(hash_lanes(heap.keep(key), len(key)))  # a word, also where nothing is compiled


def in_order(heap: Heap, keys) -> list[tuple]:
    return sorted(keys, key=lambda key: (hash_of(heap, key), key))


def make_stream(heap: Heap, content: dict[tuple, list[list[Entry]]]) -> tuple[int, int]:
    """The stream of keys with the entries of each family: its first word and its end."""
    words: list[int] = []
    for key in in_order(heap, content):
        words += key
        for entries in content[key]:
            words.append(len(entries))
            for rounds, rank, diff, *values in entries:
                words += [rounds, int(stamped(rank, diff)), *values]
    p = heap.keep(words)
    return p, p + len(words)


def read_entries(heap: Heap, p: int, n: int, w: int) -> list[Entry]:
    H = heap.H
    found = []
    for e in range(p, p + n * w, w):
        word = int(H[e + 1])
        values = [int(x) for x in H[e + 2 : e + w]]
        found.append((int(H[e]), int(rank_of(word)), int(diff_of(word)), *values))
    return found


def read_segment(heap: Heap, sg: int, w: int) -> list[Entry]:
    return read_entries(heap, int(Vector(sg).pointer), int(Vector(sg).length), w)
