"""Gathering: the entries of a key at given rounds, as a base and a list of *events* in the order of time.

Only entries whose rounds precede the given ones count. Entries of earlier slices are summed into the base; entries of
this slice become events. An entry whose rounds do not precede makes the key owe a visit at the join of the two rounds,
the first at which both count.

Rule: base and events are the key's whole history at these rounds; no entry is read twice.
"""

from __future__ import annotations

from ebbflow.columns.digit_sort import DIGIT_BITS
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Struct, Words
from ebbflow.operators.node import Node, queue
from ebbflow.operators.value_index import enter_all
from ebbflow.trace.diff_limits import LAST
from ebbflow.trace.failures import COUNT_OVERFLOW, fail
from ebbflow.trace.hashing import hash_lanes
from ebbflow.trace.heap import copy_words, reserve, same
from ebbflow.trace.rounds import join_rounds, rounds_precede
from ebbflow.trace.segment import VALUE, Entry, diff_of, rank_of
from ebbflow.trace.table import Record
from ebbflow.trace.worker_fields import Segment, Vector, Worker


class Event(Struct):
    """A change of one value at one time."""

    rank: int
    diff: int
    index: int  # in the list of values, or the lanes of the entry itself


FEW_KEYS = 16
MANY_EVENTS = 1024  # events that may be worth sorting by their digits


@kernel
def scatter_events(worker: Worker, p: Event, n: int, low: int, bits: int) -> None:
    """Sort n events at p, whose ranks from `low` on have so many bits, a digit at a time, stably."""
    counts = reserve(worker, worker.slots, 1 << DIGIT_BITS)
    a = p
    b = Event(reserve(worker, worker.sorted, n * Event.SIZE))
    shift = 0
    while shift < bits:
        for i in range(1 << DIGIT_BITS):
            counts[i] = 0
        for x in range(a, a[n], Event.SIZE):
            e = Event(x)
            counts[((e.rank - low) >> shift) & ((1 << DIGIT_BITS) - 1)] += Event.SIZE
        at: int = b
        for i in range(1 << DIGIT_BITS):
            m = counts[i]
            counts[i] = at
            at += m
        for here in range(a, a[n], Event.SIZE):
            e = Event(here)
            c = counts + (((e.rank - low) >> shift) & ((1 << DIGIT_BITS) - 1))
            o = Event(c[0])
            c[0] = o[1]
            o.rank = e.rank
            o.diff = e.diff
            o.index = e.index
        a, b = b, a
        shift += DIGIT_BITS
    if a != p:
        for i in range(n * Event.SIZE):
            Words(p)[i] = Words(a)[i]


@kernel
def is_scattered(worker: Worker, p: Event, n: int) -> bool:
    """Sort n events at p a digit at a time, if merging their runs would take more passes.  Returns whether it was."""
    low = p.rank
    high = low
    runs = 1
    for at in range(p[1], p[n], Event.SIZE):
        e = Event(at)
        x = e.rank
        if x < e[-1].rank:
            runs += 1
        low = min(low, x)
        high = max(high, x)
    bits = 1
    while (high - low) >> bits:
        bits += 1
    passes = (bits + DIGIT_BITS - 1) // DIGIT_BITS
    if (1 << (2 * passes)) >= runs:
        return False
    scatter_events(worker, p, n, low, bits)
    return True


@kernel
def sort_events(worker: Worker, p: Event, n: int) -> None:
    """Sort n events at p by their rank, stably."""
    if n <= 20:
        for i in range(1, n):
            a = p[i]
            x = a.rank
            if a[-1].rank <= x:
                continue
            y = a.diff
            z = Event(a.index)
            j = a[-1]
            while j >= p and j.rank > x:
                j[1].rank = j.rank
                j[1].diff = j.diff
                j[1].index = j.index
                j = j[-1]
            j[1].rank = x
            j[1].diff = y
            j[1].index = z
        return
    if n >= MANY_EVENTS and is_scattered(worker, p, n):
        return
    a = p
    b = Event(reserve(worker, worker.sorted, n * Event.SIZE))
    while True:
        runs = 0
        i = 0
        o = b
        while i < n:
            m = i + 1
            while m < n and a[m].rank >= a[m - 1].rank:
                m += 1
            e = m
            if m < n:
                e = m + 1
                while e < n and a[e].rank >= a[e - 1].rank:
                    e += 1
            x = i
            y = m
            while x < m or y < e:
                if y >= e or (x < m and a[x].rank <= a[y].rank):
                    s = a[x]
                    x += 1
                else:
                    s = a[y]
                    y += 1
                o.rank = s.rank
                o.diff = s.diff
                o.index = s.index
                o = o[1]
            i = e
            runs += 1
        a, b = b, a
        if runs <= 1:
            break
    if a != p:
        for i in range(n * Event.SIZE):
            Words(p)[i] = Words(a)[i]


@kernel
def refuse_group(worker: Worker, node: Node, record: Record, rank: int) -> None:
    """A key's rows are more than can be counted."""
    worker.key_at = record
    fail(worker, COUNT_OVERFLOW, node.number, rank, 0)


@kernel
def events_of(worker: Worker, segment: Segment, w: int) -> Event:
    """The entries of a segment as events in the order of time, in EVENTS; returns their end."""
    n = segment.length
    start = Event(reserve(worker, worker.events, Event.SIZE * n))
    end = start
    for i in range(n):
        e = Entry(segment.pointer + i * w)
        if diff_of(e.stamp) != 0:
            end.rank = rank_of(e.stamp)
            end.diff = diff_of(e.stamp)
            end.index = e
            end = end[1]
    sort_events(worker, start, (end - start) // Event.SIZE)
    return end


@kernel
def note_rounds(worker: Worker, node: Node, segment: Segment, w: int, rounds: int) -> None:
    """Note where these rounds first meet an entry's that do not precede them, each once.

    In a loop that is in no other, the next of them is enough: a visit there will note the one after it.
    """
    v = worker.noted
    p = segment.pointer
    n = segment.length
    m = v.length
    q = reserve(worker, v, m + 1)
    if node.depth <= 1:
        best = q[0] if m else LAST
        for at in range(p, p + n * w, w):
            e = Entry(at)
            if e.rounds > rounds and e.rounds < best:
                best = e.rounds
        q[0] = best
        v.length = 1 if best != LAST else 0
        return
    guard = worker.guard
    bits = worker.bits
    for x in range(p, p + n * w, w):
        e = Entry(x)
        if not rounds_precede(e.rounds, rounds, guard):
            both = join_rounds(e.rounds, rounds, guard, bits)
            k = m - 1
            while k >= 0 and q[k] != both:
                k -= 1
            if k < 0:
                q[m] = both
                m += 1
                v.length = m
                q = reserve(worker, v, m + 1)


@kernel
def owe_noted(worker: Worker, node: Node, record: Record) -> None:
    """The key is to be visited at all rounds that were noted."""
    n = worker.noted.length
    for i in range(n):
        queue(worker, node, record, worker.noted.pointer[i])
    worker.owed += n
    worker.noted.length = 0


@kernel
def gather_total(worker: Worker, segment: Segment, w: int, rounds: int, events: Vector) -> int:
    """For reductions that look at nothing but the count: returns the base; events have no values.

    leaves: events `rank, diff, 0` in the order of their ranks.
    """
    n = segment.length
    old = segment.old
    p = segment.pointer
    guard = worker.guard
    z = Event(reserve(worker, events, Event.SIZE * n))
    zn = 0
    base = 0
    last = -1
    in_order = True
    for i in range(n):
        e = Entry(p + i * w)
        if rounds_precede(e.rounds, rounds, guard):
            d = diff_of(e.stamp)
            if i < old:
                base += d
            else:
                t = rank_of(e.stamp)
                if t < last:
                    in_order = False
                last = t
                z.rank = t
                z.diff = d
                z.index = 0
                z = z[1]
                zn += 1
    events.length = Event.SIZE * zn
    if not in_order:
        sort_events(worker, Event(events.pointer), zn)
    return base


@inline
def index_of(values: int, n: int, lanes: Words, step: int, nv: int, slots: Words, mask: int) -> int:
    """The place of these lanes among n values of `step` words each (lanes at word 1), n when they are new.

    Looks one by one among few; through the slots among many, entering the new place there.
    """
    if mask == 0:
        for i in range(n):
            if same(Words(values + i * step + 1), lanes, nv):
                return i
        return n
    h = hash_lanes(lanes, nv) & mask
    while slots[h]:
        i = slots[h] - 1
        if same(Words(values + i * step + 1), lanes, nv):
            return i
        h = (h + 1) & mask
    slots[h] = n + 1
    return n


@inline
def index_in_order(values: int, n: int, lanes: Words, step: int, nv: int) -> int:
    """The place of these lanes among n values in their order; n when they are not among them."""
    low = 0
    high = n
    while low < high:
        middle = (low + high) >> 1
        q = Words(values + middle * step + 1)
        k = 0
        while k < nv and q[k] == lanes[k]:
            k += 1
        if k == nv:
            return middle
        if q[k] < lanes[k]:
            low = middle + 1
        else:
            high = middle
    return n


@kernel
def gather_values(worker: Worker, segment: Segment, w: int, rounds: int, events: Vector, values: Vector) -> None:
    """The key's values: a list of `count, lanes` with the base counts, and events that point into it.

    leaves: each value once; events `rank, diff, place` in the order of their ranks.
    """
    old = segment.old
    new = segment.length - old
    p = segment.pointer
    guard = worker.guard
    nv = w - VALUE
    step = nv + 1
    z = Event(reserve(worker, events, Event.SIZE * new))
    v = reserve(worker, values, step * (old + new + 1))
    at = v - step
    for x in range(p, p + old * w, w):  # in order: the entries of a value stand together
        e = Entry(x)
        if rounds_precede(e.rounds, rounds, guard):
            if at < v or not same(at + 1, e.lanes, nv):
                at += step
                at[0] = 0
                copy_words(e.lanes, at + 1, nv)
            at[0] += diff_of(e.stamp)
    known = (at + step - v) // step
    vn = known
    mask = 0
    slots = Words(0)
    if new > FEW_KEYS:
        mask = 4 * FEW_KEYS - 1
        while mask < 2 * (known + new):
            mask += mask + 1
        slots = reserve(worker, worker.slots, mask + 1)
        enter_all(v + 1, step, known, nv, slots, mask)
    zn, last = 0, -1
    in_order = True
    for here in range(p + old * w, p + (old + new) * w, w):
        e = Entry(here)
        if rounds_precede(e.rounds, rounds, guard):
            if mask:
                i = index_of(v, vn, e.lanes, step, nv, slots, mask)
            else:
                i = index_in_order(v, known, e.lanes, step, nv)
                if i == known:  # perhaps it came just before
                    i += index_of(v + known * step, vn - known, e.lanes, step, nv, slots, mask)
            if i == vn:
                v[i * step] = 0
                copy_words(e.lanes, v + i * step + 1, nv)
                vn += 1
            t = rank_of(e.stamp)
            if t < last:
                in_order = False
            last = t
            z.rank = t
            z.diff = diff_of(e.stamp)
            z.index = i
            z = z[1]
            zn += 1
    events.length = Event.SIZE * zn
    values.length = step * vn
    if not in_order:
        sort_events(worker, Event(events.pointer), zn)


@inline
def next_rank(a: Event, an: Event, b: Event, bn: Event) -> int:
    """The rank of the first event of two sorted lists that have one."""
    t = a.rank if a < an else (1 << 62)
    if b < bn and b.rank < t:
        t = b.rank
    return t
