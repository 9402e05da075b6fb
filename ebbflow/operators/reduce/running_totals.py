"""Running totals of a window: what is before a row, added up, and which changes leave it as it was.

A row without a value adds nothing, so its coming or going changes no other row's total; and where as much goes as
comes, as when one row moves, only the rows between the two places have another total.

Rule: totals are called unmoved only where that is certain: whole numbers, small enough to be added up in a word.
"""

from __future__ import annotations

from ebbflow.columns.exact_sums import float_add, int_add
from ebbflow.columns.schema import NULL
from ebbflow.columns.wide_sums import wide_add
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Words
from ebbflow.operators.gather import Event
from ebbflow.operators.reduce.answers import FLOAT_NUMBER, WIDE_FIRST
from ebbflow.operators.reduce.window_order import FRAME_AVG, FRAME_COUNT, UNBOUNDED_END, Function, Window, function_of
from ebbflow.operators.reduce.windows import Total
from ebbflow.trace.heap import reserve
from ebbflow.trace.ordered_index import OrderedIndex
from ebbflow.trace.segment import Entry
from ebbflow.trace.worker_fields import Worker

SMALL_NUMBER = 1 << 20  # numbers and counts below it add up without leaving a word, so many times


@inline
def is_running(f: Function) -> bool:
    """Whether it adds up what is before a row, from the first of the partition on."""
    return FRAME_COUNT <= f.op and f.op <= FRAME_AVG and f.first == UNBOUNDED_END


@kernel
def is_neutral(window: Window, lanes: Words) -> bool:
    """Whether a row adds nothing to any running total."""
    for j in range(window.function_count):
        f = function_of(window, j)
        if is_running(f) and lanes[f.lane] != NULL:
            return False
    return True


@kernel
def totals_move(window: Window, a: Event, an: Event) -> bool:
    """Whether these changes together change a running total: only small whole numbers are added up to find out.

    needs:  no value of theirs has a count below zero, before or after: such rows are not there.
    """
    for j in range(window.function_count):
        f = function_of(window, j)
        if not is_running(f):
            continue
        count = 0
        total = 0
        for e in range(a, an, Event.SIZE):
            x = Entry(Event(e).index).lanes[f.lane]
            diff = Event(e).diff
            if x == NULL:
                continue
            count += diff
            if f.op == FRAME_COUNT:
                continue
            small = (
                -SMALL_NUMBER < x
                and x < SMALL_NUMBER
                and -SMALL_NUMBER < diff
                and diff < SMALL_NUMBER
                and an - a < SMALL_NUMBER
            )
            if f.shape == FLOAT_NUMBER or f.shape >= WIDE_FIRST or not small:
                return True
            total += diff * x
        if count != 0 or total != 0:
            return True
    return False


@kernel
def sums_before(worker: Worker, window: Window, index: OrderedIndex, place: int, step: int) -> Total:
    """For each function whose frames begin with the partition, the count and the sum of the values before a place.

    leaves: them in STATE, from the beginning; 0 where there is nothing.
    """
    n = window.function_count
    wanted = False
    for j in range(n):
        wanted |= is_running(function_of(window, j))
    if not wanted or place == 0:
        return Total(0)
    words = reserve(worker, worker.state, n * Total.SIZE)
    for k in range(n * Total.SIZE):
        words[k] = 0
    for j in range(n):
        f = function_of(window, j)
        if not is_running(f):
            continue
        total = Total(words)[j]
        left = place
        for k in range(index.chunks):
            chunk = index.directory[k]
            m = min(left, chunk.values)
            for i in range(m):
                p = chunk.at + i * step
                x = p[1 + f.lane]
                if p[0] > 0 and x != NULL:
                    total.count += p[0]
                    if f.op == FRAME_COUNT:
                        continue
                    if f.shape == FLOAT_NUMBER:
                        float_add(total.sum, x, p[0])
                    elif f.shape >= WIDE_FIRST:
                        wide_add(total.sum, x, p[2 + f.lane], p[0])
                    else:
                        int_add(total.sum, x, p[0])
            left -= m
            if left == 0:
                break
    return Total(words)
