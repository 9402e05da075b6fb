"""Extremes: min, max, top and counts of one key, maintained while the counts of its values change one by one.

Along a chain of times a key may have thousands of values, of which each time changes one or two. The values are sorted
once; which of them are present is a bit set in that order with a summary bit for each 32, so the least and the greatest
are found in as many steps as there are summary levels.

Rule: after every change the result is that of `answer_bag` for the same values and counts.
"""

from __future__ import annotations

from ebbflow.columns.schema import NULL
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Struct, Words, several
from ebbflow.operators.gather import Event, gather_values, next_rank
from ebbflow.operators.node import Node, emit
from ebbflow.operators.reduce.answers import (
    AGGREGATE,
    COUNT_DISTINCT,
    COUNT_ROWS,
    COUNT_VALUES,
    MAX,
    TEXT_ID,
    one_row,
    sort_by_lane,
)
from ebbflow.operators.reduce.corrections import apply_emitted, correct, drop_absent
from ebbflow.trace.heap import copy_words, reserve, same
from ebbflow.trace.segment import VALUE, sort_rows
from ebbflow.trace.table import Record, Table, segment_of
from ebbflow.trace.worker_fields import Worker


class Running(Struct):
    """The values of a key in order, of which some are there: rows, rows that are not null, values there, values."""

    rows: int
    given: int
    there: int
    value_count: int
    positions: Words = several(0)


MANY_VALUES = 12  # from so many entries on, values are kept in order; fewer are looked through at each moment
VALUE_WORDS = 2  # words of a value: its count, its lane
FAN = 5  # 32 bits of a level are one of the next


@inline
def lowest(word: int) -> int:
    """The place of the lowest bit of a word of 32."""
    n = 0
    if word & 0xFFFF == 0:
        n = 16
        word >>= 16
    if word & 0xFF == 0:
        n += 8
        word >>= 8
    if word & 0xF == 0:
        n += 4
        word >>= 4
    if word & 3 == 0:
        n += 2
        word >>= 2
    return n + 1 - (word & 1)


@inline
def highest(word: int) -> int:
    """The place of the highest bit of a word of 32."""
    n = 0
    if word >> 16:
        n = 16
        word >>= 16
    if word >> 8:
        n += 8
        word >>= 8
    if word >> 4:
        n += 4
        word >>= 4
    if word >> 2:
        n += 2
        word >>= 2
    return n + (word >> 1)


@inline
def words_of(n: int, bits: int) -> int:
    """How many words the level above so many bits of a position has, over n values."""
    return (n + (32 << bits) - 1) >> (bits + FAN)


@kernel
def mark(s: Running, position: int, there: int) -> None:
    """Note whether the value at this position of the order is there."""
    n = s.value_count
    level = s.positions + 2 * n
    i = position
    while True:
        p = level + (i >> FAN)
        if there:
            p[0] |= 1 << (i & 31)
        else:
            p[0] &= ~(1 << (i & 31))
            if p[0]:
                return
        n = (n + 31) >> FAN
        if n == 1:
            return
        level += n
        i >>= FAN


@kernel
def end_of(s: Running, greatest: int) -> int:
    """The place of the least or the greatest value that is there.

    needs:  one is there.
    """
    n = s.value_count
    order = s.positions + n
    level = order + n
    bits = 0  # how many levels are below, in bits of a position
    n = (n + 31) >> FAN
    while n > 1:
        level += n
        n = (n + 31) >> FAN
        bits += FAN
    i = 0
    while True:
        word = level[i]
        i = (i << FAN) + (highest(word) if greatest else lowest(word))
        if bits == 0:
            return order[i]
        bits -= FAN
        level -= words_of(s.value_count, bits)


@kernel
def change_count(s: Running, v: int, place: int, diff: int) -> None:
    """The count of one value changes.

    needs:  a running answer at s over the values at v.
    leaves: both as if the value had had its new count from the beginning.
    """
    at = Words(v + place * VALUE_WORDS)
    was = at[0]
    at[0] = was + diff
    s.rows += diff
    if at[1] == NULL:
        return
    s.given += diff
    if was <= 0 and was + diff > 0:
        s.there += 1
        mark(s, s.positions[place], True)
    elif was > 0 and was + diff <= 0:
        s.there -= 1
        mark(s, s.positions[place], False)


@kernel
def open_running(worker: Worker, node: Node, v: Words, vn: int) -> Running:
    """Put vn values `count, lane` at v in order, and begin the running answer with their counts; its address."""
    words = 0
    n = max(vn, 1)
    while True:
        n = (n + 31) >> FAN
        words += n
        if n == 1:
            break
    s = Running(reserve(worker, worker.state, Running.SIZE + 2 * vn + words))
    for k in range(Running.SIZE + 2 * vn + words):
        Words(s)[k] = 0
    s.value_count = vn
    order = s.positions + vn
    spec = node.spec
    text = False
    for i in range(spec[0]):
        text |= spec[1 + i * AGGREGATE + 2] == TEXT_ID
    if text:
        for i in range(vn):
            order[i] = i
        sort_by_lane(worker, order, vn, v, VALUE_WORDS, 0, TEXT_ID)
    else:
        rows = reserve(worker, worker.seeds, 3 * vn)
        for i in range(vn):
            rows[3 * i] = i
            rows[3 * i + 2] = v[i * VALUE_WORDS + 1]
        sort_rows(worker, rows, vn, 3)
        for i in range(vn):
            order[i] = rows[3 * i]
    for i in range(vn):
        s.positions[order[i]] = i
    for i in range(vn):
        count = v[i * VALUE_WORDS]
        v[i * VALUE_WORDS] = 0
        change_count(s, v, i, count)
    return s


@kernel
def answer_running(worker: Worker, node: Node, s: Running, v: Words) -> None:
    """One row of aggregates, when the counts do not sum to zero."""
    if s.rows == 0:
        worker.want.length = 0
        return
    spec = node.spec
    n = spec[0]
    out = one_row(worker, n)
    for i in range(n):
        op = spec[1 + i * AGGREGATE]
        if op == COUNT_ROWS:
            out[1 + i] = s.rows
        elif op == COUNT_VALUES:
            out[1 + i] = s.given
        elif op == COUNT_DISTINCT:
            out[1 + i] = s.there
        elif s.there == 0:
            out[1 + i] = NULL
        else:
            out[1 + i] = v[end_of(s, op == MAX) * VALUE_WORDS + 1]


@inline
def send_answer(worker: Worker, node: Node, rounds: int, rank: int, diff: int, key: Words, nk: int, row: Words) -> None:
    e = emit(worker, node, rounds, rank, diff)
    for k in range(nk):
        e[k] = key[k]
    for k in range(nk, node.lanes):
        e[k] = row[1 + k - nk]


@kernel
def send_running(worker: Worker, node: Node, key: Words, nk: int, rounds: int, s: Running, v: Words) -> None:
    """The answers along a line of times straight into the node's buffer, each after what it takes back.

    needs:  the events of the chain in EVENTS; what was emitted before them is the running answer at s.
    """
    answer_running(worker, node, s, v)
    had = worker.want.length
    have = reserve(worker, worker.have, node.spec[0] + 1)
    copy_words(worker.want.pointer, have, had)
    a = Event(worker.events.pointer)
    an = Event(a + worker.events.length)
    while a < an:
        t = a.rank
        while a < an and a.rank == t:
            change_count(s, v, a.index, a.diff)
            a = a[1]
        worker.evals += 1
        answer_running(worker, node, s, v)
        want = worker.want.pointer
        n = worker.want.length
        if n == had and same(want, have, n):
            continue
        if had:
            send_answer(worker, node, rounds, t, -1, key, nk, have)
            worker.deltas += 1
        if n:
            send_answer(worker, node, rounds, t, 1, key, nk, want)
            worker.deltas += 1
        copy_words(want, have, n)
        had = n


@kernel
def visit_extremes(worker: Worker, node: Node, table: Table, record: Record, rounds: int) -> bool:
    """Counts, min and max of one lane, of a key that has many values.  Returns whether it has."""
    si = segment_of(table, record, 0)
    if si.length < MANY_VALUES:
        return False
    w1 = table.widths[1]
    nv = w1 - VALUE
    step = nv + 1
    gather_values(worker, si, table.widths[0], rounds, worker.events, worker.values)
    v = worker.values.pointer
    s = open_running(worker, node, v, worker.values.length // VALUE_WORDS)
    if node.short and node.kept == 0:
        send_running(worker, node, record.lanes, table.keys, rounds, s, v)
        return True
    if node.short:
        worker.events2.length = 0
        worker.have.length = 0
        answer_running(worker, node, s, v)
        correct(worker, nv, 0)
        worker.delta.length = 0
    else:
        gather_values(worker, segment_of(table, record, 1), w1, rounds, worker.events2, worker.have)
    a = Event(worker.events.pointer)
    an = Event(a + worker.events.length)
    b = Event(worker.events2.pointer)
    bn = Event(b + worker.events2.length)
    while a < an or b < bn:
        t = next_rank(a, an, b, bn)
        while a < an and a.rank == t:
            change_count(s, v, a.index, a.diff)
            a = a[1]
        b = apply_emitted(worker.have.pointer, step, b, bn, t)
        worker.evals += 1
        answer_running(worker, node, s, v)
        correct(worker, nv, t)
        if node.short:
            drop_absent(worker, step)
    return True
