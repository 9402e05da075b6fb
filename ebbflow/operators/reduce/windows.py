"""Windows: every row of a key, with what its place among the others says of it.

The ends of frames never move back from one row to the next: sums add what enters a frame and remove what leaves it,
exactly; the least of a frame is the first of a queue of candidates.

Rule: an answer has each row as often as it is there, and each result is that of `runtime.oracle.window_meaning`.
"""

from __future__ import annotations

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
from ebbflow.columns.float_kernels import from_float
from ebbflow.columns.schema import NULL
from ebbflow.columns.wide_sums import wide_add
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Struct, Words, several
from ebbflow.operators.node import Node
from ebbflow.operators.reduce.answers import (
    FLOAT_NUMBER,
    SCALED,
    SCALED_FIRST,
    WIDE_FIRST,
    WIDE_SECOND,
    mean_of_floats,
    value_compare,
    wide_answer,
)
from ebbflow.operators.reduce.window_order import (
    CUME_DIST,
    DENSE_RANK,
    FIRST_VALUE,
    FRAME_AVG,
    FRAME_COUNT,
    FRAME_COUNT_ROWS,
    FRAME_MIN,
    FRAME_SUM,
    LAST_VALUE,
    LEAD,
    MOST_CELLS,
    MOST_ROWS,
    NTH_VALUE,
    NTILE,
    PERCENT_RANK,
    RANK,
    UNBOUNDED_END,
    Cell,
    Function,
    Window,
    frame_first,
    frame_last,
    function_of,
    lay_cells,
    sort_places,
)
from ebbflow.trace.failures import OVERFLOW, PARTITION_OVERFLOW, fail
from ebbflow.trace.heap import reserve
from ebbflow.trace.worker_fields import Worker


class Total(Struct):
    """The values before a row: how many, and their sum."""

    count: int
    sum: Words = several(FLOAT_WORDS)


# ---- functions ------------------------------------------------------------------------------------


@kernel
def fill_places(f: Function, cells: Cell, m: int, into: Words, width: int, total: int) -> None:
    """The functions of a row's place alone, in a partition of so many rows."""
    op = f.op
    tiles = f.number
    for i in range(m):
        c = cells[i]
        x = c.before + 1
        before = cells[c.peers].before
        if op == RANK:
            x = before + 1
        elif op == DENSE_RANK:
            x = c.dense
        elif op == PERCENT_RANK:
            x = from_float(before / (total - 1)) if total > 1 else 0
        elif op == CUME_DIST:
            x = from_float(cells[c.peers_end].before / total)
        elif op == NTILE:
            size = total // tiles
            larger = (total - size * tiles) * (size + 1)  # rows in the tiles that have one more
            if x <= larger:
                x = (x - 1) // (size + 1) + 1
            else:
                x = (x - 1 - larger) // size + total - size * tiles + 1
        into[i * width] = x


@inline
def cell_of(prefix: Words, word: int, m: int, nth: int) -> int:
    """The cell of the nth row, by how many are before each cell: `word` words apart."""
    low = 0
    high = m
    while low < high:
        middle = (low + high) >> 1
        if prefix[(middle + 1) * word] < nth:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def fill_values(
    worker: Worker, window: Window, f: Function, cells: Cell, m: int, into: Words, width: int, given: Words
) -> None:
    """The functions that look up the value of one other row.

    given: room for m + 1 words.
    """
    op = f.op
    lane = f.lane
    prefix = Words(cells) + 1  # how many rows are before each
    word = Cell.SIZE
    if f.skips:
        prefix = given
        word = 1
        given[0] = 0
        for i in range(m):
            c = cells[i]
            here = c[1].before - c.before if c.row[lane] != NULL else 0
            given[i + 1] = given[i] + here
    for i in range(m):
        least = prefix[0] + 1
        most = prefix[m * word]
        if op == LEAD:
            nth = f.number
            nth += prefix[i * word] + (1 if nth <= 0 else prefix[(i + 1) * word] - prefix[i * word])
        else:
            lo = frame_first(worker, window, f, cells, m, i)
            hi = frame_last(worker, window, f, cells, m, i, lo)
            least = prefix[lo * word] + 1
            most = prefix[hi * word]
            nth = least if op == FIRST_VALUE else most if op == LAST_VALUE else least + f.number - 1
        x = NULL
        if op == LEAD and f.number == 0:
            x = cells[i].row[lane]
        elif least <= nth and nth <= most:
            x = cells[cell_of(prefix, word, m, nth)].row[lane]
        elif op == LEAD and f.default >= 0:
            x = cells[i].row[f.default]
        into[i * width] = x


@inline
def add_cell(f: Function, acc: Words, c: Cell, sign: int) -> int:
    """Add a cell to a sum, or remove it; returns how many values that are."""
    x = c.row[f.lane]
    if x == NULL:
        return 0
    copies = (c[1].before - c.before) * sign
    if f.op != FRAME_COUNT:
        if f.shape == FLOAT_NUMBER:
            float_add(acc, x, copies)
        elif f.shape >= WIDE_FIRST:
            wide_add(acc, x, c.row[f.lane + 1], copies)
        else:
            int_add(acc, x, copies)
    return copies


@inline
def total_of(worker: Worker, node: Node, f: Function, acc: Words, count: int, rank: int, number: int) -> int:
    """The result of a count, sum or mean; one that does not fit fails."""
    op = f.op
    if op == FRAME_COUNT:
        return count
    if count == 0:
        return NULL
    if f.shape == FLOAT_NUMBER:
        x = float_read(acc)
        return x if op == FRAME_SUM else mean_of_floats(x, count)
    if f.shape == SCALED:
        x = acc[0]
        fits = int_fits_decimal(acc)
        if op == FRAME_AVG:
            x = rounded_quotient(acc[0], acc[1], count, f.digits)
            fits = True
        fits = fits and -f.most <= x <= f.most
        if fits:
            return x
    elif f.shape >= SCALED_FIRST:
        x = wide_answer(acc, f.shape, op == FRAME_AVG, count, f.digits, f.most)
        if x != NULL:
            return x
    elif op == FRAME_AVG:
        return int_quotient(acc, count)
    elif int_fits(acc):
        return int_read(acc)
    fail(worker, OVERFLOW, node.number, rank, number)
    return NULL


@kernel
def fill_sums(  # wide: the cells of a frame, and a function of them
    worker: Worker,
    node: Node,
    f: Function,
    cells: Cell,
    m: int,
    into: Words,
    width: int,
    rank: int,
    number: int,
    before: Total,
) -> None:
    """Counts, sums and means over frames.

    before: the rows before the cells, where frames begin with the partition, and nothing elsewhere.
    """
    window = Window(node.spec)
    acc = before.sum
    count = before.count
    a = 0
    b = 0
    last_lo = -1
    last_hi = -1
    x = NULL
    for i in range(m):
        lo = frame_first(worker, window, f, cells, m, i)
        hi = frame_last(worker, window, f, cells, m, i, lo)
        if lo == last_lo and hi == last_hi:
            into[i * width] = x
            continue
        last_lo = lo
        last_hi = hi
        if f.op == FRAME_COUNT_ROWS:
            x = cells[hi].before
            if f.first != UNBOUNDED_END:
                x -= cells[lo].before
        else:
            while b < hi:
                count += add_cell(f, acc, cells[b], 1)
                b += 1
            while a < lo:
                count += add_cell(f, acc, cells[a], -1)
                a += 1
            x = total_of(worker, node, f, acc, count, rank, number)
        into[i * width] = x


@kernel
def fill_extremes(
    worker: Worker, window: Window, f: Function, cells: Cell, m: int, into: Words, width: int, queue: Words
) -> None:
    """The least or the greatest of frames: a queue of the cells that may still be it.  queue: room for m words."""
    lane = f.lane
    shape = f.shape
    second = 1 if shape == WIDE_SECOND else 0
    sign = 1 if f.op == FRAME_MIN else -1
    head = 0
    tail = 0
    b = 0
    for i in range(m):
        lo = frame_first(worker, window, f, cells, m, i)
        hi = frame_last(worker, window, f, cells, m, i, lo)
        while b < hi:
            x = cells[b].row
            if x[lane] != NULL:
                while tail > head:
                    y = cells[queue[tail - 1]].row
                    if value_compare(worker, x, y, lane, shape) * sign > 0:
                        break
                    tail -= 1
                queue[tail] = b
                tail += 1
            b += 1
        while head < tail and queue[head] < lo:
            head += 1
        into[i * width] = cells[queue[head]].row[lane + second] if head < tail else NULL


@inline
def reserve_cells(worker: Worker, n: int, room: int) -> Words:
    """Room in SIDE for the places of n values, so many cells and one more, a word for each, and a total."""
    return reserve(worker, worker.side, n + (room + 1) * (Cell.SIZE + 1) + Total.SIZE)


@kernel
def answer_ordered(  # wide: the cells of a frame, and a function of them
    worker: Worker,
    node: Node,
    v: Words,
    n: int,
    step: int,
    rank: int,
    room: int,
    before: int,
    total: int,
    sums: Total,
) -> None:
    """The results of n values in order; the first words of SIDE have their places.

    room: how many cells they are at most; before, total: how many rows are before them, and in the partition; sums: 0,
    or the totals of what is before them, one for each function.
    leaves: rows `copies, lanes, results` in WANT, in the order of the window.
    """
    window = Window(node.spec)
    order = reserve_cells(worker, n, room)
    cells = Cell(order + n)
    scratch = Words(cells[room + 1])
    m = lay_cells(worker, window, cells, order, n, v, step, before)
    width = step + window.function_count
    into = reserve(worker, worker.want, m * width + 1)
    worker.want.length = m * width
    for i in range(m):
        c = cells[i]
        into[i * width] = c[1].before - c.before
        for k in range(step - 1):
            into[i * width + 1 + k] = c.row[k]
    for j in range(window.function_count):
        f = function_of(window, j)
        column = into + step + j
        if f.op <= NTILE:
            fill_places(f, cells, m, column, width, total)
        elif f.op <= NTH_VALUE:
            fill_values(worker, window, f, cells, m, column, width, scratch)
        elif f.op <= FRAME_AVG:
            for k in range(Total.SIZE):
                scratch[k] = Words(sums[j])[k] if sums else 0
            fill_sums(worker, node, f, cells, m, column, width, rank, j, Total(scratch))
        else:
            fill_extremes(worker, window, f, cells, m, column, width, scratch)


@kernel
def answer_window(worker: Worker, node: Node, v: Words, vn: int, step: int, rank: int) -> None:
    """Every row that is there, with the results of the functions behind it.

    needs:  vn values `count, lanes` at v.
    leaves: rows `copies, lanes, results` in WANT, in the order of the window.
    """
    window = Window(node.spec)
    n = 0
    total = 0
    for i in range(vn):
        if v[i * step] > 0:
            total += v[i * step]
            n += 1
    worker.want.length = 0
    room = total if window.copies_differ else n
    if total > MOST_ROWS or room > MOST_CELLS:
        fail(worker, PARTITION_OVERFLOW, node.number, rank, total)
        return
    order = reserve_cells(worker, n, room)
    n = 0
    for i in range(vn):
        if v[i * step] > 0:
            order[n] = i
            n += 1
    sort_places(worker, window, order, n, v, step)
    answer_ordered(worker, node, v, n, step, rank, room, 0, total, Total(0))
