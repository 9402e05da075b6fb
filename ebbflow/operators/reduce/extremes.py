"""Extremes: min, max, top and counts of one key, maintained while the counts of its values change one by one.

Along a chain of times a key may have thousands of values, of which each time changes one or two. The values are sorted
once; which of them are present is a bit set in that order with a summary bit for each 32, so the least and the greatest
are found in as many steps as there are summary levels.

Rule: after every change the result is that of `answer_bag` for the same values and counts.
"""

from __future__ import annotations

from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.gather import EVENT
from ebbflow.operators.node import LANES, OP, SPEC, emit
from ebbflow.operators.reduce.answers import (
    AGGREGATE,
    BAGGED,
    COUNT_DISTINCT,
    COUNT_ROWS,
    COUNT_VALUES,
    MAX,
    MIN,
    TEXT,
    sort_by_lane,
)
from ebbflow.trace.heap import DELTAS, EVALS, EVENTS, HAVE, LEN, PTR, SEEDS, STATE, WANT, copy_words, reserve, same
from ebbflow.trace.segment import sort_rows

MANY_VALUES = 12  # from so many on they are kept in order; fewer are looked through at each moment
STEP = 2  # words of a value: its count, its lane
# ---- a running answer, in the STATE vector: four words, then per value its position in order, per position its value,
# and the levels of bits, the lowest first ----------------------------------------------------------------
ROWS, GIVEN, THERE, VALUES_IN = 0, 1, 2, 3  # rows; rows that are not null; values that are there; values
FIRST = 4
FAN = 5  # 32 bits of a level are one of the next

NULL = -9223372036854775808


@inline
def lowest(word):
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
def highest(word):
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


@kernel
def can_run(H, nd, vn, vstep):
    """Whether the node's answers are worth keeping for so many values: one lane, and nothing but counts and ends."""
    if vn < MANY_VALUES or vstep != STEP or H[nd + OP] != BAGGED:
        return False
    spec = H[nd + SPEC]
    for i in range(H[spec]):
        op = H[spec + 1 + i * AGGREGATE]
        if op != COUNT_ROWS and op != COUNT_VALUES and op != MIN and op != MAX and op != COUNT_DISTINCT:
            return False
    return True


@inline
def words_of(n, bits):
    """How many words the level above so many bits of a position has, over n values."""
    return (n + (32 << bits) - 1) >> (bits + FAN)


@kernel
def mark(H, s, position, there):
    """Note whether the value at this position of the order is there."""
    n = H[s + VALUES_IN]
    level = s + FIRST + 2 * n
    i = position
    while True:
        p = level + (i >> FAN)
        if there:
            H[p] |= 1 << (i & 31)
        else:
            H[p] &= ~(1 << (i & 31))
            if H[p]:
                return
        n = (n + 31) >> FAN
        if n == 1:
            return
        level += n
        i >>= FAN


@kernel
def end_of(H, s, greatest):
    """The place of the least or the greatest value that is there.

    needs:  one is there.
    """
    n = H[s + VALUES_IN]
    order = s + FIRST + n
    level = order + n
    bits = 0  # how many levels are below, in bits of a position
    n = (n + 31) >> FAN
    while n > 1:
        level += n
        n = (n + 31) >> FAN
        bits += FAN
    i = 0
    while True:
        word = H[level + i]
        i = (i << FAN) + (highest(word) if greatest else lowest(word))
        if bits == 0:
            return H[order + i]
        bits -= FAN
        level -= words_of(H[s + VALUES_IN], bits)


@kernel
def change_count(H, s, v, place, diff):
    """The count of one value changes.

    needs:  a running answer at s over the values at v.
    leaves: both as if the value had had its new count from the beginning.
    """
    at = v + place * STEP
    was = H[at]
    H[at] = was + diff
    H[s + ROWS] += diff
    if H[at + 1] == NULL:
        return
    H[s + GIVEN] += diff
    if was <= 0 and was + diff > 0:
        H[s + THERE] += 1
        mark(H, s, H[s + FIRST + place], True)
    elif was > 0 and was + diff <= 0:
        H[s + THERE] -= 1
        mark(H, s, H[s + FIRST + place], False)


@kernel
def open_running(H, W, nd, v, vn):
    """Put vn values `count, lane` at v in order, and begin the running answer with their counts; its address."""
    words = 0
    n = vn
    while True:
        n = (n + 31) >> FAN
        words += n
        if n == 1:
            break
    s = reserve(H, W, W + STATE, FIRST + 2 * vn + words)
    for k in range(FIRST + 2 * vn + words):
        H[s + k] = 0
    H[s + VALUES_IN] = vn
    order = s + FIRST + vn
    spec = H[nd + SPEC]
    text = False
    for i in range(H[spec]):
        text |= H[spec + 1 + i * AGGREGATE + 2] == TEXT
    if text:
        for i in range(vn):
            H[order + i] = i
        sort_by_lane(H, W, order, vn, v, STEP, 0, TEXT)
    else:
        rows = reserve(H, W, W + SEEDS, 3 * vn)
        for i in range(vn):
            H[rows + 3 * i] = i
            H[rows + 3 * i + 2] = H[v + i * STEP + 1]
        sort_rows(H, W, rows, vn, 3)
        for i in range(vn):
            H[order + i] = H[rows + 3 * i]
    for i in range(vn):
        H[s + FIRST + H[order + i]] = i
    for i in range(vn):
        count = H[v + i * STEP]
        H[v + i * STEP] = 0
        change_count(H, s, v, i, count)
    return s


@kernel
def answer_running(H, W, nd, s, v):
    """One row of aggregates, when the counts do not sum to zero."""
    if H[s + ROWS] == 0:
        H[W + WANT + LEN] = 0
        return
    spec = H[nd + SPEC]
    n = H[spec]
    out = reserve(H, W, W + WANT, n + 1)
    H[out] = 1
    H[W + WANT + LEN] = n + 1
    for i in range(n):
        op = H[spec + 1 + i * AGGREGATE]
        if op == COUNT_ROWS:
            H[out + 1 + i] = H[s + ROWS]
        elif op == COUNT_VALUES:
            H[out + 1 + i] = H[s + GIVEN]
        elif op == COUNT_DISTINCT:
            H[out + 1 + i] = H[s + THERE]
        elif H[s + THERE] == 0:
            H[out + 1 + i] = NULL
        else:
            H[out + 1 + i] = H[v + end_of(H, s, op == MAX) * STEP + 1]


@inline
def send_answer(H, W, nd, rounds, rank, diff, key, nk, row):
    e = emit(H, W, nd, rounds, rank, diff)
    for k in range(nk):
        H[e + k] = H[key + k]
    for k in range(nk, H[nd + LANES]):
        H[e + k] = H[row + 1 + k - nk]


@kernel
def send_running(H, W, nd, key, nk, rounds, s, v):
    """The answers along a line of times straight into the node's buffer, each after what it takes back.

    needs:  the events of the chain in EVENTS; what was emitted before them is the running answer at s.
    """
    answer_running(H, W, nd, s, v)
    had = H[W + WANT + LEN]
    have = reserve(H, W, W + HAVE, H[H[nd + SPEC]] + 1)
    copy_words(H, H[W + WANT + PTR], have, had)
    a = H[W + EVENTS + PTR]
    an = a + H[W + EVENTS + LEN]
    while a < an:
        t = H[a]
        while a < an and H[a] == t:
            change_count(H, s, v, H[a + 2], H[a + 1])
            a += EVENT
        H[W + EVALS] += 1
        answer_running(H, W, nd, s, v)
        want = H[W + WANT + PTR]
        n = H[W + WANT + LEN]
        if n == had and same(H, want, have, n):
            continue
        if had:
            send_answer(H, W, nd, rounds, t, -1, key, nk, have)
            H[W + DELTAS] += 1
        if n:
            send_answer(H, W, nd, rounds, t, 1, key, nk, want)
            H[W + DELTAS] += 1
        copy_words(H, want, have, n)
        had = n
