"""Window order: the rows of a key in the order of a window, and the frame of each of them.

The values of the key are put in order. A cell is a value with all its copies, or a single copy where copies have
different results. A frame is a range of cells.

Rule: the ends of frames never move back from one cell to the next.
"""

from __future__ import annotations

from typing import Any

from ebbflow.columns.exact_sums import below
from ebbflow.columns.float_kernels import from_float, to_float
from ebbflow.columns.schema import NULL
from ebbflow.columns.wide_words import from_words, to_words
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Struct, Words, several
from ebbflow.operators.reduce.answers import FLOAT_NUMBER, WIDE_FIRST, lane_compare
from ebbflow.trace.heap import reserve
from ebbflow.trace.worker_fields import Worker


class OrderColumn(Struct):
    """By what a window is ordered."""

    lane: int
    descending: int
    shape: int
    nulls_last: int


class Function(Struct):
    """A function of a window."""

    op: int
    lane: int
    shape: int
    digits: int  # how many its mean has more, of a decimal
    most: int  # what a decimal may come to: the largest word, or how many digits two words may have
    unit: int  # of its frame
    first: int  # how the frame begins, and how far away
    start: int
    last: int  # how it ends
    end: int
    number: int
    default: int  # the lane that stands for a row that is not there, or -1
    skips: int  # whether it skips nulls


class Window(Struct):
    """A description: behind the order columns stand how many lanes a row has and what they are, then the functions."""

    function_count: int
    functions_at: int
    copies_differ: int
    column_count: int
    reach_left: int  # how far a change reaches, and what it takes to compute that (see `dataflow.windows`)
    reach_right: int
    need_left: int
    need_right: int
    peered: int
    by_place: int
    by_total: int
    is_indexed: int
    running: int
    columns: OrderColumn = several(0)


class Cell(Struct):
    """Copies of a row that have the same results."""

    row: Words  # its lanes
    before: int  # how many rows are before it
    peers: int  # the first of its peers, the first behind them
    peers_end: int
    dense: int  # their number


BY_ROWS, BY_RANGE = 0, 1  # units of a frame
UNBOUNDED_END, CURRENT_ROW, AT_OFFSET = 0, 1, 2  # ends of a frame
ROW_NUMBER, RANK, DENSE_RANK, PERCENT_RANK, CUME_DIST, NTILE, LEAD = 0, 1, 2, 3, 4, 5, 6
FIRST_VALUE, LAST_VALUE, NTH_VALUE = 7, 8, 9
FRAME_COUNT_ROWS, FRAME_COUNT, FRAME_SUM, FRAME_AVG, FRAME_MIN, FRAME_MAX = 10, 11, 12, 13, 14, 15

MOST_ROWS = (1 << 31) - 1  # of a partition: ranks are ints
MOST_CELLS = 1 << 26


@inline
def function_of(window: Window, i: int) -> Function:
    return Function(window + window.functions_at)[i]


# ---- order ----------------------------------------------------------------------------------------


@inline
def column_compare(worker: Worker, column: OrderColumn, a: int, b: int) -> int:
    """Two lanes of an order column: -1, 0 or 1."""
    if a == b:
        return 0
    if a == NULL or b == NULL:
        before = (a == NULL) != (column.nulls_last != 0)
        return -1 if before else 1
    c = lane_compare(worker, a, b, column.shape)
    return -c if column.descending else c


@inline
def order_compare(worker: Worker, window: Window, p: Words, q: Words) -> int:
    """Two rows by the order columns alone: 0 for peers."""
    for i in range(window.column_count):
        column = window.columns[i]
        c = column_compare(worker, column, p[column.lane], q[column.lane])
        if c != 0:
            return c
    return 0


@inline
def window_compare(worker: Worker, window: Window, p: Words, q: Words) -> int:
    """Two rows in the order of the window, ties by every lane."""
    c = order_compare(worker, window, p, q)
    if c != 0:
        return c
    shapes = Words(window.columns[window.column_count])
    for i in range(shapes[0]):
        c = lane_compare(worker, p[i], q[i], shapes[1 + i])
        if c != 0:
            return c
    return 0


@kernel
def sort_places(worker: Worker, window: Window, order: Words, n: int, v: Words, step: int) -> None:
    """Put n places of values at v in the order of the window: runs that double in length are merged.

    Values that are in order, or in its reverse, as those of a segment often are, are only looked at.
    """
    turned = n > 1 and window_compare(worker, window, v + order[0] * step + 1, v + order[1] * step + 1) > 0
    i = 1
    while i < n:
        c = window_compare(worker, window, v + order[i - 1] * step + 1, v + order[i] * step + 1)
        if c <= 0 if turned else c > 0:
            break
        i += 1
    if i >= n:
        if turned:
            for k in range(n // 2):
                x = order[k]
                order[k] = order[n - 1 - k]
                order[n - 1 - k] = x
        return
    a = order
    b = reserve(worker, worker.sorted, n + 1)
    size = 1
    while size < n:
        for low in range(0, n, 2 * size):
            x = low
            middle = min(low + size, n)
            y = middle
            high = min(low + 2 * size, n)
            o = low
            while x < middle or y < high:
                left = y >= high
                if not left and x < middle:
                    left = window_compare(worker, window, v + a[x] * step + 1, v + a[y] * step + 1) <= 0
                if left:
                    b[o] = a[x]
                    x += 1
                else:
                    b[o] = a[y]
                    y += 1
                o += 1
        a, b = b, a
        size *= 2
    if a != order:
        for i in range(n):
            order[i] = a[i]


@kernel
def lay_cells(
    worker: Worker, window: Window, cells: Cell, order: Words, n: int, v: Words, step: int, before: int
) -> int:
    """The cells of n values in order, before which so many rows are, and one more; returns how many there are."""
    m = 0
    dense = 0
    peers = 0
    for i in range(n):
        at = v + order[i] * step
        if i == 0 or order_compare(worker, window, v + order[i - 1] * step + 1, at + 1) != 0:
            for k in range(peers, m):
                cells[k].peers_end = m
            peers = m
            dense += 1
        copies = at[0] if window.copies_differ else 1
        for k in range(copies):
            c = cells[m]
            c.row = at + 1
            c.before = before
            c.peers = peers
            c.dense = dense
            before += at[0] // copies
            m += 1
    for k in range(peers, m + 1):
        cells[k].peers_end = m
    cells[m].before = before
    return m


# ---- frames ---------------------------------------------------------------------------------------


@inline
def moved_by(lane: int, offset: int, real: bool) -> int:
    """A value of the order column, so much further; no further than the words go."""
    if real:
        return from_float(to_float(lane) + to_float(offset))
    far = lane + offset
    if offset > 0 and far < lane:
        return 9223372036854775807
    if offset < 0 and (far > lane or far == NULL):
        return NULL + 1
    return far


@inline
def wide_moved_by(first: int, second: int, offset: int) -> Any:
    """The same of a value that is two words: two words."""
    high, low = from_words(first, second)
    moved = low + offset
    high += (offset >> 63) + (1 if below(moved, low) else 0)
    return to_words(high, moved)


@kernel
def first_beyond(worker: Worker, window: Window, cells: Cell, m: int, bound: int, second: int, also_equal: int) -> int:
    """The first cell whose order column is not before a bound, or, also_equal, is behind it.

    second: the second word of the bound, where it is two.
    """
    column = window.columns
    low = 0
    high = m
    while low < high:
        middle = (low + high) >> 1
        c = column_compare(worker, column, cells[middle].row[column.lane], bound)
        if c == 0 and column.shape == WIDE_FIRST:
            c = column_compare(worker, column[1], cells[middle].row[column.lane + 1], second)
        if c < 0 or (also_equal and c == 0):
            low = middle + 1
        else:
            high = middle
    return low


@inline
def frame_end(worker: Worker, window: Window, f: Function, cells: Cell, m: int, i: int, last: int) -> int:
    """The first cell of the frame of cell i; with last, the first behind it."""
    how = f.last if last else f.first
    offset = f.end if last else f.start
    if how == UNBOUNDED_END:
        return m if last else 0
    c = cells[i]
    if f.unit == BY_ROWS:
        at = i + last
        if how == AT_OFFSET:
            at += offset
        return min(max(at, 0), m)
    column = window.columns
    x = c.row[column.lane] if window.column_count else NULL
    if how == CURRENT_ROW or x == NULL:
        return c.peers_end if last else c.peers
    real = column.shape == FLOAT_NUMBER
    if column.descending:
        offset = from_float(-to_float(offset)) if real else -offset
    if column.shape == WIDE_FIRST:
        one, two = wide_moved_by(x, c.row[column.lane + 1], offset)
        return first_beyond(worker, window, cells, m, one, two, last)
    return first_beyond(worker, window, cells, m, moved_by(x, offset, real), 0, last)


@inline
def frame_first(worker: Worker, window: Window, f: Function, cells: Cell, m: int, i: int) -> int:
    return frame_end(worker, window, f, cells, m, i, 0)


@inline
def frame_last(worker: Worker, window: Window, f: Function, cells: Cell, m: int, i: int, first: int) -> int:
    """The first cell behind the frame, which begins with `first`."""
    return max(first, frame_end(worker, window, f, cells, m, i, 1))
