"""Aggregates that look at the values of a group in order: quantiles, the mode, products, bits, values by another.

The values that are there are sorted with their counts, then read once.  A change costs the rows of its group.

Rule: an answer is a function of the values whose counts sum to more than zero; null is none of them.
"""

from __future__ import annotations

import numpy as np

from ebbflow.columns.float_kernels import from_float, to_float
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.answers import (
    AGGREGATE,
    NULL,
    WIDE_FIRST,
    WIDE_SECOND,
    one_aggregate,
    one_row,
    sort_by_lane,
    value_compare,
)
from ebbflow.operators.reduce.opcodes import (
    BITS_AND,
    BITS_OR,
    BITS_XOR,
    MAX_BY,
    MIN_BY,
    MODE,
    PRODUCT,
    QUANTILE,
    QUANTILE_OF_VALUES,
)
from ebbflow.trace.heap import reserve
from ebbflow.trace.worker_fields import Worker

SHAPES = 8  # how a second lane is written behind an aggregate: lane * SHAPES + shape


@inline
def is_same_value(p: Words, q: Words, lane: int, shape: int) -> bool:
    """Whether two rows have the same value."""
    return p[lane] == q[lane] and (shape < WIDE_FIRST or p[lane + 1] == q[lane + 1])


@kernel
def values_in_order(worker: Worker, v: Words, vn: int, step: int, lane: int, shape: int) -> Words:
    """needs:  vn values `count, lanes` at v.
    leaves: at the address that it gives back: how many distinct values there are, how many with their counts, then the
            values in order, `value, count` each; of values that are two words, the number of one of their rows.
    """
    order = reserve(worker, worker.side, 3 * vn + 3)
    pairs = order + vn
    for i in range(vn):
        order[i] = i
    sort_by_lane(worker, order, vn, v, step, lane, shape)
    n = 0
    total = 0
    i = 0
    while i < vn:
        first = order[i]
        at = v + first * step + 1
        c = 0
        while i < vn and is_same_value(at, v + order[i] * step + 1, lane, shape):
            c += v[order[i] * step]
            i += 1
        if at[lane] != NULL and c > 0:
            pairs[2 + 2 * n] = first if shape >= WIDE_FIRST else at[lane]
            pairs[3 + 2 * n] = c
            n += 1
            total += c
    pairs[0] = n
    pairs[1] = total
    return pairs


@inline
def value_at(pairs: Words, rank: int) -> int:
    """needs: 0 <= rank < how many values there are.  leaves: the value of that number in order."""
    at = pairs + 2
    while rank >= at[1]:
        rank -= at[1]
        at += 2
    return at[0]


@inline
def word_at(v: Words, step: int, lane: int, shape: int, found: int) -> int:
    """A value as `values_in_order` gives it, as the word that is asked for."""
    if shape < WIDE_FIRST:
        return found
    return v[found * step + 1 + lane + (1 if shape == WIDE_SECOND else 0)]


@inline
def between(place: float, before: int, behind: int) -> int:
    """needs: the lanes of the floats at the whole places around this one.  leaves: the lane of what is between them."""
    if before == behind:
        return before
    low = np.floor(place)
    high = np.ceil(place)
    return from_float((high - place) * to_float(before) + (place - low) * to_float(behind))


@kernel
def quantile(pairs: Words, part: int) -> int:
    """needs: floats, at least one; the lane of a part, 0 to 1.  leaves: the lane of what is there, between values."""
    place = np.float64(pairs[1] - 1) * to_float(part)
    low = int(np.floor(place))
    high = int(np.ceil(place))
    return between(place, value_at(pairs, low), value_at(pairs, high))


@inline
def power(x: float, n: int) -> float:
    """needs: n > 0.  leaves: x times itself, by squares."""
    found = 1.0
    while n > 0:
        if n & 1 == 1:
            found *= x
        x *= x
        n >>= 1
    return found


@kernel
def value_by(worker: Worker, a: Words, v: Words, vn: int, step: int) -> int:
    """The value of MAX_BY or MIN_BY, described at a: that of the row in which another lane is largest or least; of
    several, the least value.

    The same two values may stand in several rows, which differ in others; they are there if their counts sum to more
    than zero.
    """
    lane = a[1]
    by = a[3] // SHAPES
    sign = 1 if a[0] == MAX_BY else -1
    shape = a[2]
    by_shape = a[3] % SHAPES
    at = -1
    for i in range(vn):
        p = v + i * step + 1
        if p[by] == NULL:
            continue
        if at >= 0:
            q = v + at * step + 1
            c = sign * value_compare(worker, p, q, by, by_shape)
            if c < 0 or (c == 0 and value_compare(worker, p, q, lane, shape) >= 0):
                continue
        count = 0
        for j in range(vn):
            q = v + j * step + 1
            if is_same_value(p, q, lane, shape) and is_same_value(p, q, by, by_shape):
                count += v[j * step]
        if count > 0:
            at = i
    if at < 0:
        return NULL
    return v[at * step + 1 + lane + (1 if shape == WIDE_SECOND else 0)]


@kernel
def ordered_aggregate(worker: Worker, a: Words, v: Words, vn: int, step: int) -> int:
    """The value of an aggregate of this module, described at a, over vn values `count, lanes` at v."""
    op = a[0]
    lane = a[1]
    shape = a[2]
    if op == MAX_BY or op == MIN_BY:
        return value_by(worker, a, v, vn, step)
    pairs = values_in_order(worker, v, vn, step, lane, shape)
    n = pairs[0]
    if n == 0:
        return NULL
    if op == QUANTILE:
        return quantile(pairs, a[3])
    if op == QUANTILE_OF_VALUES:
        rank = int(np.ceil(np.float64(pairs[1]) * to_float(a[3]))) - 1
        return word_at(v, step, lane, shape, value_at(pairs, max(rank, 0)))
    if op == PRODUCT:
        product = 1.0
        for i in range(n):
            product *= power(to_float(pairs[2 + 2 * i]), pairs[3 + 2 * i])
        return from_float(product)
    found = pairs[2]
    if op == BITS_XOR and pairs[3] & 1 == 0:
        found = found * 0
    most = pairs[3]
    for i in range(1, n):
        x = pairs[2 + 2 * i]
        c = pairs[3 + 2 * i]
        if op == MODE:
            if c > most:
                found, most = x, c
        elif op == BITS_AND:
            found &= x
        elif op == BITS_OR:
            found |= x
        elif c & 1 == 1:
            found ^= x
    return word_at(v, step, lane, shape, found)


@kernel
def answer_bag(worker: Worker, node: Node, v: Words, vn: int, step: int, rank: int) -> None:
    """One row of aggregates, when the counts do not sum to zero."""
    total = 0
    for i in range(vn):
        total += v[i * step]
    if total == 0:
        worker.want.length = 0
        return
    spec = node.spec
    n = spec[0]
    out = one_row(worker, n)
    for i in range(n):
        a = spec + 1 + i * AGGREGATE
        if a[0] >= QUANTILE:
            out[1 + i] = ordered_aggregate(worker, a, v, vn, step)
        else:
            out[1 + i] = one_aggregate(worker, node, a, v, vn, step, step == 2, rank)
