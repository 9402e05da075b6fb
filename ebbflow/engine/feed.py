"""The entrance of rows into the plan, from outside or from where they were held.

Rows from outside come column by column and go where the edges of their input lead. Rows that a delay held, and times at
which a reduction owes an answer, come back when a slice begins at which they are complete.

Rule: rows that are fed are pending afterwards; nothing is visited here.
"""

from __future__ import annotations

import numpy as np

from ebbflow.native.kernel import kernel
from ebbflow.native.structs import Words
from ebbflow.operators.deliver import release_held
from ebbflow.operators.flush import SINGLE, flush_edges, pour_columns
from ebbflow.operators.node import REDUCE, Node, emit, queue
from ebbflow.operators.reduce.totals.accumulators import touch_input
from ebbflow.trace.append import push_entry
from ebbflow.trace.clock import is_complete
from ebbflow.trace.heap import copy_words, reserve
from ebbflow.trace.table import Record, segment_of
from ebbflow.trace.worker_fields import Worker


@kernel
def put_rows(worker: Worker, node: Node, rows: np.ndarray, words: np.ndarray) -> None:
    """Rows [lanes, n] with `words` = rounds, ranks and diffs one after the other into the node's buffer."""
    n = rows.shape[1]
    for i in range(n):
        e = emit(worker, node, words[i], words[n + i], words[2 * n + i])
        for k in range(rows.shape[0]):
            e[k] = rows[k, i]
        if words[i] < node.least:
            node.least = words[i]


@kernel
def feed_columns(  # wide: lanes, ranks and diffs as they lie
    worker: Worker,
    node: Node,
    lanes: int,
    columns: Words,
    far: int,
    ranks: Words,
    rstep: int,
    diffs: Words,
    dstep: int,
    n: int,
) -> None:
    """Rows that lie column by column, so far apart, enter at an input, and go where its edges lead."""
    in_order = 1
    for i in range(1, n * rstep):
        if ranks[i] < ranks[i - 1]:
            in_order = 0
            break
    worker.in_order = in_order
    if not pour_columns(worker, node, columns, far, ranks, rstep, diffs, dstep, n):
        return
    worker.delivers_bulk = 1 if n >= worker.seal and worker.general == 0 else 0
    for i in range(n):
        e = emit(worker, node, 0, ranks[i * rstep], diffs[i * dstep])
        for k in range(lanes):
            e[k] = columns[k * far + i]
        if i % 4096 == 4095:
            flush_edges(worker, node, SINGLE)
            if worker.error:
                break
    flush_edges(worker, node, SINGLE)
    worker.delivers_bulk = 0


@kernel
def feed_rows(worker: Worker, node: Node, rows: np.ndarray, moments: np.ndarray, words: np.ndarray) -> None:
    """Rows [lanes, n] enter at an input.

    moments: their ranks, or the one that all of them have; words: their diffs, likewise.
    """
    lanes, n = rows.shape
    columns = Words(np.int64(rows.ctypes.data) // 8 - 1)
    ranks = Words(np.int64(moments.ctypes.data) // 8 - 1)
    diffs = Words(np.int64(words.ctypes.data) // 8 - 1)
    feed_columns(worker, node, lanes, columns, n, ranks, int(len(moments) == n), diffs, int(len(words) == n), n)


@kernel
def feed_everywhere(
    headers: Words, nodes: Words, count: int, rows: np.ndarray, moments: np.ndarray, words: np.ndarray
) -> None:
    """The same, a part of the rows at each of the workers whose headers and nodes of the input are listed at these
    addresses; the exchange brings them where they belong.
    """
    lanes, n = rows.shape
    columns = np.int64(rows.ctypes.data) // 8 - 1
    ranks = np.int64(moments.ctypes.data) // 8 - 1
    diffs = np.int64(words.ctypes.data) // 8 - 1
    rstep = int(len(moments) == n)
    dstep = int(len(words) == n)
    for i in range(count):
        a = n * i // count
        m = n * (i + 1) // count - a
        if m:
            node = Node(nodes[i])
            feed_columns(
                Worker(headers[i]),
                node,
                lanes,
                Words(columns + a),
                n,
                Words(ranks + a * rstep),
                rstep,
                Words(diffs + a * dstep),
                dstep,
                m,
            )


@kernel
def due_owed(worker: Worker, node: Node) -> None:
    """What the node owes at times that have become complete turns into seeds: entries that change nothing."""
    v = node.owes
    n = v.length
    if n == 0:
        return
    side = reserve(worker, node.side_rows, n)
    copy_words(v.pointer, side, n)
    v.length = 0
    table = node.table
    w = table.widths[0]
    zeros = reserve(worker, worker.row, w)
    for k in range(w):
        zeros[k] = 0
    for at in range(0, n, 3):
        record = Record(side[at])
        if is_complete(worker, side[at + 2]):
            segment = segment_of(table, record, 0)
            touch_input(worker, table, record, segment, w)
            push_entry(worker, segment, w, side[at + 1], side[at + 2], 0, zeros)
            queue(worker, node, record, side[at + 1])
        else:
            p = reserve(worker, v, v.length + 3) + v.length
            p[0] = record
            p[1] = side[at + 1]
            p[2] = side[at + 2]
            v.length += 3


@kernel
def begin_slice(worker: Worker, nodes: Words, count: int) -> None:
    """What was held for, or owed at, times that are complete now comes back into play."""
    for i in range(count):
        node = Node(nodes[i])
        release_held(worker, node)
        if node.kind == REDUCE:
            due_owed(worker, node)
