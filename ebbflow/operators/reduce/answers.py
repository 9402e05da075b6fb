"""Answers: the result of a reduction for the values of one key at one time.

Each kind of reduction is an opcode with parameters in the heap, and none depends on times. An answer is a list of rows
`copies, lanes` in the WANT vector.

Rule: an answer is a function of the values and their counts, in whatever order they come.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ebbflow.columns.exact_sums import (
    FLOAT_WORDS,
    float_add,
    float_read,
    int_add,
    int_fits,
    int_fits_decimal,
    int_quotient,
    int_read,
    rounded_quotient,
)
from ebbflow.columns.float_kernels import from_float, to_float
from ebbflow.columns.schema import NULL
from ebbflow.columns.text_kernels import text_compare
from ebbflow.columns.text_table import TextPool
from ebbflow.columns.wide_sums import WIDE_WORDS, mean_word, total_word, wide_add
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.opcodes import AVG, COUNT_DISTINCT, COUNT_ROWS, COUNT_VALUES, MAX, MIN, SUM
from ebbflow.operators.reduce.totals.accumulators import Sums
from ebbflow.trace.failures import OVERFLOW, fail
from ebbflow.trace.heap import reserve
from ebbflow.trace.worker_fields import Worker

DISTINCT, COUNT_OF_ROWS, SUMMED, BAGGED, TOPPED, USER_FUNCTION = 0, 1, 2, 3, 4, 5
DISTINCT_BY_VALUE = 6  # a distinct of whole records that are kept by part of their columns
WINDOWED = 7  # every row, with what its place among the others says of it
# ---- an aggregate in a description: op, lane (or column of the accumulator), shape ------------------
# What a lane is: a whole number, a float, a text, or a decimal, behind which stands how many digits its mean has more.
# An answer that is two words is described twice, for its first word and for its second: of a decimal that is one word,
# or of one that is two, which are this lane and the next.
WHOLE_NUMBER, FLOAT_NUMBER, TEXT_ID, SCALED = 0, 1, 2, 3
SCALED_FIRST, SCALED_SECOND, WIDE_FIRST, WIDE_SECOND = 4, 5, 6, 7
# Behind that, what a decimal may come to: the largest word, or how many digits two words may have.
AGGREGATE = 5


@inline
def lane_compare(worker: Worker, a: int, b: int, shape: int) -> int:
    """-1, 0 or 1 in the order of values; nulls first."""
    if a == b:
        return 0
    if shape == TEXT_ID and a != NULL and b != NULL:
        return text_compare(TextPool(worker.pool), a, b)
    return -1 if a < b else 1


@inline
def value_compare(worker: Worker, p: Words, q: Words, lane: int, shape: int) -> int:
    """The same of the values of two rows."""
    c = lane_compare(worker, p[lane], q[lane], shape)
    if c == 0 and shape >= WIDE_FIRST:
        c = lane_compare(worker, p[lane + 1], q[lane + 1], WHOLE_NUMBER)
    return c


@inline
def mean_of_floats(total_lane: int, count: int) -> Any:
    return from_float(to_float(total_lane) / np.float64(count))


@inline
def wide_answer(acc: Words, shape: int, is_mean: bool, count: int, digits: int, most: int) -> int:
    """One of the two words of the sum or the mean of decimals, from their total; NULL if it has too many digits."""
    w0 = acc[0]
    w1 = acc[1]
    w2 = acc[2] if shape >= WIDE_FIRST else w1 >> 63
    second = shape == SCALED_SECOND or shape == WIDE_SECOND
    return mean_word(w2, w1, w0, count, digits, most, second) if is_mean else total_word(w2, w1, w0, most, second)


@inline
def exact_answer(worker: Worker, node: Node, a: Words, acc: Words, count: int, rank: int) -> int:
    """The sum or the mean of whole numbers or decimals, from their total; one that does not fit fails.

    needs:  an aggregate described at a; a total at acc, of `count` values, not zero.
    """
    if a[2] == SCALED:
        x = acc[0]
        fit = int_fits_decimal(acc)
        if a[0] == AVG:
            x = rounded_quotient(acc[0], acc[1], count, a[3])
            fit = True
        fit = fit and -a[4] <= x <= a[4]
        if fit:
            return x
    elif a[2] >= SCALED_FIRST:
        x = wide_answer(acc, a[2], a[0] == AVG, count, a[3], a[4])
        if x != NULL:
            return x
    elif a[0] == AVG:
        return int_quotient(acc, count)
    elif int_fits(acc):
        return int_read(acc)
    fail(worker, OVERFLOW, node.number, rank, (a - node.spec - 1) // AGGREGATE)
    return NULL


@inline
def one_row(worker: Worker, lanes: int) -> Words:
    """The answer is one row, once: where it lies, its copies first, then room for its lanes."""
    out = reserve(worker, worker.want, lanes + 1)
    out[0] = 1
    worker.want.length = lanes + 1
    return out


@kernel
def answer_sums(worker: Worker, node: Node, acc: Words, rank: int) -> None:
    """One row from an accumulator, when its count of rows is not zero."""
    if acc[0] == 0:
        worker.want.length = 0
        return
    spec = node.spec
    n = spec[0]
    out = one_row(worker, n)
    columns = Sums(node.table.folds).columns
    for i in range(n):
        a = spec + 1 + i * AGGREGATE
        op = a[0]
        x = NULL
        if op == COUNT_ROWS:
            x = acc[0]
        else:
            at = acc + columns[a[1]].at
            count = at[0]
            if op == COUNT_VALUES:
                x = count
            elif count != 0:
                if a[2] == FLOAT_NUMBER:
                    x = float_read(at + 1)
                    if op == AVG:
                        x = mean_of_floats(x, count)
                else:
                    x = exact_answer(worker, node, a, at + 1, count, rank)
        out[1 + i] = x


@kernel
def sort_by_lane(worker: Worker, order: Words, n: int, v: Words, step: int, lane: int, shape: int) -> None:
    """Sort places into the values at v by one lane: shell sort, in place."""
    gap = 1
    while gap < n // 3:
        gap = gap * 3 + 1
    while gap > 0:
        for i in range(gap, n):
            x = order[i]
            key = v + x * step + 1
            j = i
            while j >= gap and value_compare(worker, v + order[j - gap] * step + 1, key, lane, shape) > 0:
                order[j] = order[j - gap]
                j -= gap
            order[j] = x
        gap //= 3


@kernel
def wide_aggregate(worker: Worker, node: Node, a: Words, v: Words, vn: int, step: int, rank: int) -> int:
    """The same of a decimal that is two words."""
    op = a[0]
    lane = a[1]
    second = 1 if a[2] == WIDE_SECOND else 0
    count = 0
    if op == SUM or op == AVG:
        acc = reserve(worker, worker.side, WIDE_WORDS)
        for k in range(WIDE_WORDS):
            acc[k] = 0
        for i in range(vn):
            at = v + i * step + 1 + lane
            c = v[i * step]
            if at[0] != NULL and c != 0:
                count += c
                wide_add(acc, at[0], at[1], c)
        return NULL if count == 0 else exact_answer(worker, node, a, acc, count, rank)
    order = reserve(worker, worker.side, vn + 1)
    for i in range(vn):
        order[i] = i
    sort_by_lane(worker, order, vn, v, step, lane, WIDE_FIRST)
    best = NULL
    i = 0
    while i < vn:
        at = v + order[i] * step + 1
        c = 0
        while i < vn and value_compare(worker, at, v + order[i] * step + 1, lane, WIDE_FIRST) == 0:
            c += v[order[i] * step]
            i += 1
        if at[lane] != NULL and c > 0:
            if count == 0 or op == MAX:
                best = at[lane + second]
            count += 1
    return count if op == COUNT_DISTINCT else best


@inline
def the_better(worker: Worker, op: int, best: int, x: int, shape: int) -> int:
    """The one of two lanes that a MIN or MAX keeps; the first that was met, for any other."""
    if best == NULL:
        return x
    if op != MIN and op != MAX:
        return best
    c = lane_compare(worker, x, best, shape)
    return x if (c < 0 if op == MIN else c > 0) else best


@inline
def added_up(worker: Worker, node: Node, a: Words, v: Words, vn: int, step: int, rank: int) -> int:
    """COUNT_VALUES, SUM or AVG of the lane described at a."""
    op = a[0]
    lane = a[1]
    shape = a[2]
    count = 0
    acc = reserve(worker, worker.side, FLOAT_WORDS)
    for k in range(FLOAT_WORDS):
        acc[k] = 0
    for i in range(vn):
        x = v[i * step + 1 + lane]
        c = v[i * step]
        if x != NULL and c != 0:
            count += c
            if op != COUNT_VALUES:
                if shape == FLOAT_NUMBER:
                    float_add(acc, x, c)
                else:
                    int_add(acc, x, c)
    if op == COUNT_VALUES:
        return count
    if count == 0:
        return NULL
    if shape == FLOAT_NUMBER:
        x = float_read(acc)
        return x if op == SUM else mean_of_floats(x, count)
    return exact_answer(worker, node, a, acc, count, rank)


@kernel
def one_aggregate(worker: Worker, node: Node, a: Words, v: Words, vn: int, step: int, single: int, rank: int) -> int:
    """The value of the aggregate described at a, over vn values `count, lanes` at v.

    single: every value has this lane only, so that counts need not be summed by lane first.
    """
    op = a[0]
    lane = a[1]
    shape = a[2]
    count = 0
    if op == COUNT_ROWS:
        for i in range(vn):
            count += v[i * step]
        return count
    if shape >= WIDE_FIRST:
        return wide_aggregate(worker, node, a, v, vn, step, rank)
    if op == COUNT_VALUES or op == SUM or op == AVG:
        return added_up(worker, node, a, v, vn, step, rank)
    best = NULL
    if single:
        for i in range(vn):
            x = v[i * step + 1 + lane]
            if x != NULL and v[i * step] > 0:
                count += 1
                best = the_better(worker, op, best, x, shape)
        return count if op == COUNT_DISTINCT else best
    order = reserve(worker, worker.side, vn + 1)
    for i in range(vn):
        order[i] = i
    sort_by_lane(worker, order, vn, v, step, lane, WHOLE_NUMBER)  # any order that brings equal lanes together
    i = 0
    while i < vn:
        x = v[order[i] * step + 1 + lane]
        c = 0
        while i < vn and v[order[i] * step + 1 + lane] == x:
            c += v[order[i] * step]
            i += 1
        if x != NULL and c > 0:
            count += 1
            best = the_better(worker, op, best, x, shape)
    return count if op == COUNT_DISTINCT else best


@inline
def row_compare(worker: Worker, spec: Words, p: Words, q: Words) -> int:
    """Two rows of lanes in the order described: `keys, (lane, descending, shape)*, lanes, shape*`, ties by
    every lane.
    """
    n = spec[1]
    at = spec + 2
    for i in range(n):
        lane = at[0]
        c = lane_compare(worker, p[lane], q[lane], at[2])
        if c != 0:
            return -c if at[1] else c
        at += 3
    for i in range(at[0]):
        c = lane_compare(worker, p[i], q[i], at[1 + i])
        if c != 0:
            return c
    return 0


@kernel
def answer_first_row(worker: Worker, node: Node, v: Words, vn: int, step: int) -> None:
    """The first row in order, once."""
    best = Words(0)
    for i in range(vn):
        at = v + i * step
        if at[0] > 0 and (best == 0 or row_compare(worker, node.spec, at + 1, best + 1) < 0):
            best = at
    worker.want.length = 0
    if best:
        out = reserve(worker, worker.want, step)
        out[0] = 1
        for k in range(1, step):
            out[k] = best[k]
        worker.want.length = step


@kernel
def answer_top(worker: Worker, node: Node, v: Words, vn: int, step: int) -> None:
    """The first rows in order, with their copies, as many as asked for."""
    spec = node.spec
    left = spec[0]
    if left == 1:
        answer_first_row(worker, node, v, vn, step)
        return
    order = reserve(worker, worker.side, vn + 1)
    n = 0
    for i in range(vn):
        if v[i * step] > 0:
            order[n] = i
            n += 1
    gap = 1
    while gap < n // 3:
        gap = gap * 3 + 1
    while gap > 0:
        for i in range(gap, n):
            x = order[i]
            j = i
            while j >= gap and row_compare(worker, spec, v + order[j - gap] * step + 1, v + x * step + 1) > 0:
                order[j] = order[j - gap]
                j -= gap
            order[j] = x
        gap //= 3
    out = reserve(worker, worker.want, n * step + 1)
    k = 0
    i = 0
    while i < n and left > 0:
        at = v + order[i] * step
        copies = min(left, at[0])
        left -= copies
        out[k] = copies
        for x in range(1, step):
            out[k + x] = at[x]
        k += step
        i += 1
    worker.want.length = k


@inline
def answer_total(worker: Worker, node: Node, total: int) -> None:
    """Distinct, or a count: from the count of rows alone."""
    w = worker.want.pointer
    if node.op == DISTINCT:
        w[0] = 1
        worker.want.length = 1 if total > 0 else 0
    else:
        n = node.spec[0]
        w[0] = 1
        for i in range(n):
            w[1 + i] = total
        worker.want.length = n + 1 if total != 0 else 0
