"""Tally: a hash table from key to running total, for reductions that need no rows.

A reduction outside loops that only adds up needs nothing of a key's past but the sum. The sum is stored in the table's
slot beside the key, so one memory access finds both. An entry is `stamp, key lanes, words of the sum`; the stamp is the
number of the last time that changed the entry, 0 where there is no entry.

Rule: an entry whose sum is zero means the same as no entry; such entries are dropped when the table grows.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import H
from ebbflow.native.structs import Struct, Words, several
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import alloc, drop_vector, release, reserve, same
from ebbflow.trace.worker_fields import Vector, Worker


class Tally(Struct):
    """A table of totals."""

    keys: int  # lanes of a key
    words: int  # of a sum
    mask: int
    slots: Words
    count: int
    rank: int  # the time of the open moment, 0 when none is open
    next: int  # of a moment that is being closed: the next of its entries
    eager: int  # whether rows come in the order of their times, so that each moment can be closed when the next begins
    logged_in: int  # the advance that the log is of; entries with an earlier stamp are not in it yet
    since: int
    moment: int  # the number of the open moment
    open: Vector  # the entries that the open moment has changed, `address, words as they were`
    log: Vector  # the entries that the advance found and has changed, `key lanes, words as it found them`
    output: int  # the output that takes the corrections unchanged, if no other node reads them, else 0
    sorts: int  # whether the corrections of a moment are sorted by key, since they may be shown in their order


class Total(Struct):
    """An entry of a tally: the number of the last time that changed it, the key's lanes, then the words of the sum."""

    stamp: int
    lanes: Words = several(0)


NEW, KNOWN = 1, 2  # the stamps of a key that no moment has changed yet, and of one whose sum was put back

LEAST_SLOTS = 16
HUGE_TALLY = 1 << 20  # words of a log that is not kept for the next advance


@inline
def entry_words(tally: Tally) -> int:
    return Total.SIZE + tally.keys + tally.words


@inline
def is_zero(p: Words, n: int) -> bool:
    for k in range(n):
        if p[k] != 0:
            return False
    return True


@kernel
def free_slot(slots: Words, mask: int, width: int, h: int) -> Words:
    """The first empty entry for a hash."""
    i = h & mask
    while slots[i * width] != 0:
        i = (i + 1) & mask
    return slots + i * width


@kernel
def spread_tally(worker: Worker, tally: Tally, more: int) -> None:
    """Move the entries to as many slots as they need with so many more; those that are zero and not open leave.

    leaves: the addresses of open entries follow them.
    """
    width = entry_words(tally)
    words = tally.words
    nk = tally.keys
    old = tally.slots
    size = tally.mask + 1
    live = 0
    for i in range(size):
        e = Total(old + i * width)
        if e.stamp != 0 and (e.stamp >= tally.moment or not is_zero(e.lanes + nk, words)):
            live += 1
    new = LEAST_SLOTS
    while (live + more) * 2 > new:
        new *= 2
    slots = alloc(worker, new * width)
    for i in range(new):
        slots[i * width] = 0
    for i in range(size):
        e = Total(old + i * width)
        if e.stamp != 0 and (e.stamp >= tally.moment or not is_zero(e.lanes + nk, words)):
            to = free_slot(slots, new - 1, width, hash_lanes(e.lanes, nk))
            for k in range(width):
                to[k] = Words(e)[k]
            e.stamp = to
    p = tally.open.pointer
    for at in range(0, tally.open.length, 1 + words):
        p[at] = H[p[at]]
    if size:
        release(worker, old, size * width)
    tally.slots = slots
    tally.mask = new - 1
    tally.count = live


@kernel
def room_for(worker: Worker, tally: Tally, more: int) -> None:
    """Make sure that so many more keys fit."""
    if (tally.count + more) * 4 > (tally.mask + 1) * 3:
        spread_tally(worker, tally, more)


@kernel
def entry_of(worker: Worker, tally: Tally, key: Words) -> Total:
    """The entry of the key at this address, made if there is none."""
    room_for(worker, tally, 1)
    width = entry_words(tally)
    nk = tally.keys
    mask = tally.mask
    slots = tally.slots
    i = hash_lanes(key, nk) & mask
    e = Total(slots + i * width)
    while e.stamp != 0:
        if same(e.lanes, key, nk):
            return e
        i = (i + 1) & mask
        e = Total(slots + i * width)
    e.stamp = NEW
    for k in range(nk):
        e.lanes[k] = key[k]
    for k in range(Total.SIZE + nk, width):
        Words(e)[k] = 0
    tally.count += 1
    return e


@kernel
def begin_log(worker: Worker, tally: Tally) -> None:
    """The first change of an advance: what it finds will be written down."""
    if tally.logged_in != worker.first:
        tally.logged_in = worker.first
        tally.log.length = 0
        if tally.log.capacity > HUGE_TALLY:
            drop_vector(worker, tally.log)
        tally.moment = max(tally.moment, NEW) + 1
        tally.since = tally.moment


@inline
def open_entry(worker: Worker, tally: Tally, e: Total, nk: int, size: int) -> None:
    """The open moment is about to change an entry for the first time."""
    v = tally.open
    n = v.length
    p = reserve(worker, v, n + 1 + size) + n
    v.length = n + 1 + size
    p[0] = e
    for k in range(size):
        p[1 + k] = e.lanes[nk + k]
    if e.stamp != NEW and e.stamp < tally.since:  # what is new need not be written down: it was zero
        v = tally.log
        n = v.length
        p = reserve(worker, v, n + nk + size) + n
        v.length = n + nk + size
        for k in range(nk + size):
            p[k] = e.lanes[k]
    e.stamp = tally.moment


@kernel
def undo_tally(worker: Worker, tally: Tally) -> None:
    """Leave every sum as the advance found it, and no moment open."""
    tally.open.length = 0
    tally.rank = 0
    tally.next = 0
    if tally.logged_in != worker.first:
        return
    nk = tally.keys
    words = tally.words
    width = entry_words(tally)
    for i in range(tally.mask + 1):
        e = Total(tally.slots + i * width)
        if e.stamp >= tally.since:
            for k in range(words):
                e.lanes[nk + k] = 0
    at = tally.log.length
    while at > 0:  # backwards: a key that left at zero, and came again, was written down twice
        at -= nk + words
        p = tally.log.pointer + at
        e = entry_of(worker, tally, p)
        e.stamp = KNOWN
        for k in range(words):
            e.lanes[nk + k] = p[nk + k]
    tally.log.length = 0
    tally.logged_in = 0
