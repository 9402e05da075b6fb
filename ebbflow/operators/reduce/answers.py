"""Answers: the result of a reduction for the values of one key at one time.

Each kind of reduction is an opcode with parameters in the heap, and none depends on times. An answer is a list of rows
`copies, lanes` in the WANT vector.

Rule: an answer is a function of the values and their counts, in whatever order they come.
"""

from __future__ import annotations

import numpy as np

from ebbflow.columns.exact_sums import (
    FLOAT_WORDS,
    LARGEST_DECIMAL,
    float_add,
    float_read,
    int_add,
    int_fits,
    int_fits_decimal,
    int_quotient,
    int_read,
    rounded_quotient,
)
from ebbflow.columns.text_pool import text_compare
from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.node import NUMBER, OP, SPEC, TB
from ebbflow.operators.reduce.totals.accumulators import AT, COLUMN, FIRST_COLUMN
from ebbflow.trace.heap import LEN, OVERFLOW, POOL, PTR, SIDE, WANT, fail, reserve
from ebbflow.trace.table import FOLDS

DISTINCT, COUNTED, SUMMED, BAGGED, TOPPED, USER_FUNCTION = 0, 1, 2, 3, 4, 5
DISTINCT_BY_VALUE = 6  # a distinct of whole records that are kept by part of their columns
# ---- an aggregate in a description: op, lane (or column of the accumulator), shape ------------------
COUNT_ROWS, COUNT_VALUES, SUM, AVG, MIN, MAX, COUNT_DISTINCT = 0, 1, 2, 3, 4, 5, 6
# What a lane is: a whole number, a float, a text, or a decimal, behind which stands how many digits its mean has more.
WHOLE, REAL, TEXT, SCALED = 0, 1, 2, 3
AGGREGATE = 4

NULL = -9223372036854775808


@inline
def float_of(lane):
    return np.int64(lane if lane >= 0 else lane ^ 0x7FFFFFFFFFFFFFFF).view(np.float64)


@inline
def lane_of(x):
    if x != x:
        return np.int64(0x7FF8000000000000)
    b = np.float64(x + 0.0).view(np.int64)
    return b if b >= 0 else b ^ 0x7FFFFFFFFFFFFFFF


@inline
def lane_compare(H, W, a, b, shape):
    """-1, 0 or 1 in the order of values; nulls first."""
    if a == b:
        return 0
    if shape == TEXT and a != NULL and b != NULL:
        return text_compare(H, H[W + POOL], a, b)
    return -1 if a < b else 1


@inline
def mean_of_floats(total_lane, count):
    return lane_of(float_of(total_lane) / np.float64(count))


@inline
def exact_answer(H, W, nd, a, acc, count, rank):
    """The sum or the mean of whole numbers or decimals, from their total; one that does not fit fails.

    needs:  an aggregate described at a; a total at acc, of `count` values, not zero.
    """
    if H[a + 2] == SCALED:
        x = H[acc]
        fit = int_fits_decimal(H, acc)
        if H[a] == AVG:
            x = rounded_quotient(H[acc], H[acc + 1], count, H[a + 3])
            fit = -LARGEST_DECIMAL <= x <= LARGEST_DECIMAL
        if fit:
            return x
    elif H[a] == AVG:
        return int_quotient(H, acc, count)
    elif int_fits(H, acc):
        return int_read(H, acc)
    fail(H, W, OVERFLOW, H[nd + NUMBER], rank, (a - H[nd + SPEC] - 1) // AGGREGATE)
    return NULL


@kernel
def answer_sums(H, W, nd, acc, rank):
    """One row from an accumulator, when its count of rows is not zero."""
    if H[acc] == 0:
        H[W + WANT + LEN] = 0
        return
    spec = H[nd + SPEC]
    n = H[spec]
    out = reserve(H, W, W + WANT, n + 1)
    H[out] = 1
    H[W + WANT + LEN] = n + 1
    columns = H[H[nd + TB] + FOLDS] + FIRST_COLUMN
    for i in range(n):
        a = spec + 1 + i * AGGREGATE
        op = H[a]
        x = NULL
        if op == COUNT_ROWS:
            x = H[acc]
        else:
            at = acc + H[columns + H[a + 1] * COLUMN + AT]
            count = H[at]
            if op == COUNT_VALUES:
                x = count
            elif count != 0:
                if H[a + 2] == REAL:
                    x = float_read(H, at + 1)
                    if op == AVG:
                        x = mean_of_floats(x, count)
                else:
                    x = exact_answer(H, W, nd, a, at + 1, count, rank)
        H[out + 1 + i] = x


@kernel
def sort_by_lane(H, W, order, n, v, step, lane, shape):
    """Sort places into the values at v by one lane: shell sort, in place."""
    gap = 1
    while gap < n // 3:
        gap = gap * 3 + 1
    while gap > 0:
        for i in range(gap, n):
            x = H[order + i]
            key = H[v + x * step + 1 + lane]
            j = i
            while j >= gap and lane_compare(H, W, H[v + H[order + j - gap] * step + 1 + lane], key, shape) > 0:
                H[order + j] = H[order + j - gap]
                j -= gap
            H[order + j] = x
        gap //= 3


@kernel
def one_aggregate(H, W, nd, a, v, vn, step, single, rank):
    """The value of the aggregate described at a, over vn values `count, lanes` at v.

    single: every value has this lane only, so that counts need not be summed by lane first.
    """
    op = H[a]
    lane = H[a + 1]
    shape = H[a + 2]
    count = 0
    if op == COUNT_ROWS:
        for i in range(vn):
            count += H[v + i * step]
        return count
    if op == COUNT_VALUES or op == SUM or op == AVG:
        acc = reserve(H, W, W + SIDE, FLOAT_WORDS)
        for k in range(FLOAT_WORDS):
            H[acc + k] = 0
        for i in range(vn):
            x = H[v + i * step + 1 + lane]
            c = H[v + i * step]
            if x != NULL and c != 0:
                count += c
                if op != COUNT_VALUES:
                    if shape == REAL:
                        float_add(H, acc, x, c)
                    else:
                        int_add(H, acc, x, c)
        if op == COUNT_VALUES:
            return count
        if count == 0:
            return NULL
        if shape == REAL:
            x = float_read(H, acc)
            return x if op == SUM else mean_of_floats(x, count)
        return exact_answer(H, W, nd, a, acc, count, rank)
    best = NULL
    if single:
        for i in range(vn):
            x = H[v + i * step + 1 + lane]
            if x != NULL and H[v + i * step] > 0:
                count += 1
                if best == NULL:
                    best = x
                elif op == MIN:
                    if lane_compare(H, W, x, best, shape) < 0:
                        best = x
                elif op == MAX and lane_compare(H, W, x, best, shape) > 0:
                    best = x
        return count if op == COUNT_DISTINCT else best
    order = reserve(H, W, W + SIDE, vn + 1)
    for i in range(vn):
        H[order + i] = i
    sort_by_lane(H, W, order, vn, v, step, lane, WHOLE)  # any order that brings equal lanes together
    i = 0
    while i < vn:
        x = H[v + H[order + i] * step + 1 + lane]
        c = 0
        while i < vn and H[v + H[order + i] * step + 1 + lane] == x:
            c += H[v + H[order + i] * step]
            i += 1
        if x != NULL and c > 0:
            count += 1
            if best == NULL:
                best = x
            elif op == MIN:
                if lane_compare(H, W, x, best, shape) < 0:
                    best = x
            elif op == MAX and lane_compare(H, W, x, best, shape) > 0:
                best = x
    return count if op == COUNT_DISTINCT else best


@kernel
def answer_bag(H, W, nd, v, vn, step, rank):
    """One row of aggregates, when the counts do not sum to zero."""
    total = 0
    for i in range(vn):
        total += H[v + i * step]
    if total == 0:
        H[W + WANT + LEN] = 0
        return
    spec = H[nd + SPEC]
    n = H[spec]
    out = reserve(H, W, W + WANT, n + 1)
    H[out] = 1
    H[W + WANT + LEN] = n + 1
    for i in range(n):
        H[out + 1 + i] = one_aggregate(H, W, nd, spec + 1 + i * AGGREGATE, v, vn, step, step == 2, rank)


@inline
def row_compare(H, W, spec, p, q):
    """Two rows of lanes in the order described: `keys, (lane, descending, shape)*, lanes, shape*`, ties by
    every lane.
    """
    n = H[spec + 1]
    at = spec + 2
    for i in range(n):
        lane = H[at]
        c = lane_compare(H, W, H[p + lane], H[q + lane], H[at + 2])
        if c != 0:
            return -c if H[at + 1] else c
        at += 3
    for i in range(H[at]):
        c = lane_compare(H, W, H[p + i], H[q + i], H[at + 1 + i])
        if c != 0:
            return c
    return 0


@kernel
def answer_top(H, W, nd, v, vn, step):
    """The first rows in order, with their copies, as many as asked for."""
    spec = H[nd + SPEC]
    left = H[spec]
    order = reserve(H, W, W + SIDE, vn + 1)
    n = 0
    for i in range(vn):
        if H[v + i * step] > 0:
            H[order + n] = i
            n += 1
    gap = 1
    while gap < n // 3:
        gap = gap * 3 + 1
    while gap > 0:
        for i in range(gap, n):
            x = H[order + i]
            j = i
            while j >= gap and row_compare(H, W, spec, v + H[order + j - gap] * step + 1, v + x * step + 1) > 0:
                H[order + j] = H[order + j - gap]
                j -= gap
            H[order + j] = x
        gap //= 3
    out = reserve(H, W, W + WANT, n * step + 1)
    k = 0
    i = 0
    while i < n and left > 0:
        at = v + H[order + i] * step
        copies = min(left, H[at])
        left -= copies
        H[out + k] = copies
        for x in range(1, step):
            H[out + k + x] = H[at + x]
        k += step
        i += 1
    H[W + WANT + LEN] = k


@inline
def answer_total(H, W, nd, total):
    """Distinct, or a count: from the count of rows alone."""
    w = H[W + WANT + PTR]
    if H[nd + OP] == DISTINCT:
        H[w] = 1
        H[W + WANT + LEN] = 1 if total > 0 else 0
    else:
        n = H[H[nd + SPEC]]
        H[w] = 1
        for i in range(n):
            H[w + 1 + i] = total
        H[W + WANT + LEN] = n + 1 if total != 0 else 0
