"""Edge: a fused chain of linear actions, from a node's buffer of rows into the next node.

An edge has stages that compute lanes or drop rows, a sign, and what happens to the rounds (a mask for leaving loops, an
addition for the feedback of a loop). Rows arrive in the lane order of the receiving node.

Rule: a row is delivered once, to the worker that owns its key, at its own time; a row whose time is not complete is
held until it is.
"""

from __future__ import annotations

from ebbflow.expressions.interpreter import REGISTERS, interpret
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import At, Struct, Words, several
from ebbflow.operators.arrive import are_complete, arrive
from ebbflow.operators.block import (
    BANK,
    BLOCK_ROWS,
    COPY,
    MOST_COLUMNS,
    Block,
    Stage,
    copy_row,
    pack_column,
    pick_lanes,
    run_program,
    set_column,
)
from ebbflow.operators.consolidate import absorb, absorb_block
from ebbflow.operators.exchange.outbox import (
    Run,
    SentRow,
    coordinates_behind,
    end_of_run,
    owner_of,
    row_words,
    send_others,
    send_row,
)
from ebbflow.operators.node import (
    ARRANGE,
    OUTPUT,
    REDUCE,
    SETTLE,
    Node,
    add_pending_row,
    bucket_for,
    emit,
    queue,
    row_lanes,
)
from ebbflow.operators.reduce.answers import USER_FUNCTION
from ebbflow.operators.reduce.totals.accumulators import touch_input
from ebbflow.operators.reduce.totals.fold import run_block
from ebbflow.trace.clock import intern_time, is_complete
from ebbflow.trace.heap import (
    ROUNDS_OVERFLOW,
    ROW_OVERFLOW,
    Worker,
    copy_words,
    drop_vector,
    fail,
    hash_lanes,
    reserve,
)
from ebbflow.trace.segment import push_entry
from ebbflow.trace.spine import record_of
from ebbflow.trace.table import segment_of
from ebbflow.trace.tally import Tally


class Edge(Struct):
    """An edge."""

    to: At[Node]
    sign: int
    mask: int
    add: int
    field: int
    most: int
    raises: int
    exchange: int
    stage_count: int
    to_lanes: int
    stages: Words = several(0)


HEAVY = 8  # words for each row of the smallest bulk: a buffer of so many is emptied before it grows
HUGE = 1 << 20  # words of a buffer that is not kept for the next rows
EVERY, SINGLE = 0, 1  # which edges: all, or those that take rows one by one
WORTH_A_BLOCK = 32  # rows for arrangements and reductions


@inline
def has_keys(node: Node) -> bool:
    """Whether rows that come to a node come to keys."""
    kind = node.kind
    return kind == ARRANGE or kind == REDUCE or kind == SETTLE


@inline
def rounds_behind(worker: Worker, node: Node, edge: Edge, rounds: int, rank: int) -> int:
    """The rounds that a row of these has behind an edge; -1 when it goes no further: a loop has had its rounds."""
    rounds = (rounds & edge.mask) + edge.add
    if edge.add:
        if rounds & worker.guard:
            fail(worker, ROUNDS_OVERFLOW, node.number, rank, 0)
            return -1
        if edge.most >= 0 and ((rounds >> edge.field) & ((1 << worker.bits) - 1)) >= edge.most:
            if edge.raises == 0:
                return -1
    return rounds


@kernel
def wait_at_tally(worker: Worker, node: Node, row: Words, rank: int, diff: int) -> None:
    """A row waits for its turn at a reduction that keeps sums: `rank, diff, lanes`."""
    v = bucket_for(worker, node, 0).bulk
    n = row_lanes(node)
    at = v.length
    x = reserve(worker, v, at + 2 + n) + at
    x[0] = rank
    x[1] = diff
    copy_words(row, x + 2, n)
    v.length = at + 2 + n


@kernel
def deliver(worker: Worker, node: Node, row: Words, rounds: int, rank: int, diff: int) -> None:
    """A row, in this node's lane order, has come to where it belongs."""
    kind = node.kind
    if worker.general and not is_complete(worker, rank):
        n = node.lanes if kind != REDUCE else node.table.keys + node.table.widths[0] - 2
        v = node.hold
        at = v.length
        x = reserve(worker, v, at + 4 + n) + at
        x[0] = n
        x[1] = rounds
        x[2] = rank
        x[3] = diff
        copy_words(row, x + 4, n)
        v.length = at + 4 + n
        return
    if kind == OUTPUT:
        absorb(worker, node, row, rank, diff)
        return
    if not has_keys(node):
        e = emit(worker, node, rounds, rank, diff)
        copy_words(row, e, node.lanes)
        if rounds < node.least:
            node.least = rounds
        return
    if node.tally:
        wait_at_tally(worker, node, row, rank, diff)
        return
    table = node.table
    nk = table.keys
    h = hash_lanes(row, nk)
    w = table.widths[0]
    if kind == REDUCE and worker.delivers_bulk and node.op != USER_FUNCTION:
        add_pending_row(worker, bucket_for(worker, node, rounds).bulk, h, rank, diff, row, nk + w - 2)
    elif kind == REDUCE:
        record = record_of(worker, table, row, h)
        segment = segment_of(table, record, 0)
        touch_input(worker, table, record, segment, w)
        push_entry(worker, segment, w, rounds, rank, diff, row + nk)
        queue(worker, node, record, rounds)
    else:
        add_pending_row(worker, bucket_for(worker, node, rounds).items, h, rank, diff, row, nk + w - 2)


@kernel
def refuse_row(worker: Worker, stage: Stage, row: Words, node: Node, rank: int) -> None:
    """An expression overflowed: remember the first such row, and where."""
    if worker.error == 0:
        copy_words(row, reserve(worker, worker.refused, stage.reads + 1), stage.reads)
        worker.refused.length = stage.reads
        fail(worker, ROW_OVERFLOW, node.number, rank, stage)


@kernel
def through(worker: Worker, edge: Edge, row: Words, node: Node, rank: int) -> Words:
    """Run the stages of an edge on a row.  Returns the address of the new row, 0 when it was dropped."""
    at = row
    bank = worker.row
    for i in range(edge.stage_count):
        stage = Stage(edge.stages[i])
        to = bank.pointer
        if stage.kind == COPY:
            for k in range(stage.count):
                to[k] = at[stage.lanes[k]]
        else:
            kept = interpret(stage.program, at, to)
            if kept <= 0:
                if kept < 0:
                    refuse_row(worker, stage, at, node, rank)
                return Words(0)
        at = to
        bank = worker.row2 if bank == worker.row else worker.row
    return at


# ---- blocks of rows -----------------------------------------------------------------------------------


@inline
def takes_blocks(worker: Worker, node: Node, edge: Edge, n: int) -> bool:
    """Whether an edge takes n rows as a block: to where rows of this worker stay, if it is worth it there."""
    to = edge.to
    if node.lanes > MOST_COLUMNS or edge.to_lanes > MOST_COLUMNS:
        return False
    if worker.workers > 1 and edge.exchange and (to.tally or edge.to_lanes > REGISTERS):
        return False
    if to.kind == OUTPUT or to.tally != 0:
        return True
    return has_keys(to) and n >= min(WORTH_A_BLOCK, worker.seal)


@inline
def is_eager(worker: Worker, tally: Tally) -> bool:
    return tally.eager == 1 or (tally.eager == 2 and worker.in_order == 1)


@kernel
def wait_block(
    worker: Worker, node: Node, ranks: Words, rstep: int, diffs: Words, dstep: int, sign: int, n: int
) -> None:
    """The block's rows wait for their turn at a reduction that keeps sums."""
    v = bucket_for(worker, node, 0).bulk
    lanes = row_lanes(node)
    step = 2 + lanes
    at = v.length
    p = reserve(worker, v, at + n * step) + at
    for i in range(n):
        p[i * step] = ranks[i * rstep]
        p[i * step + 1] = diffs[i * dstep] * sign
    columns = Block(worker.block).columns
    for k in range(lanes):
        c = columns[k].at
        s = columns[k].step
        for i in range(n):
            p[i * step + 2 + k] = c[i * s]
    v.length = at + n * step


@kernel
def refuse_in_block(worker: Worker, node: Node, stage: Stage, row: int, rank: int) -> None:
    """Row number `row` of the block overflowed in a stage."""
    columns = Block(worker.block).columns
    at = worker.row.pointer
    for k in range(stage.reads):
        at[k] = columns[k].at[row * columns[k].step]
    refuse_row(worker, stage, at, node, rank)


@kernel
def deliver_singly(
    worker: Worker,
    to: Node,
    lanes: int,
    rounds: int,
    ranks: Words,
    rstep: int,
    diffs: Words,
    dstep: int,
    sign: int,
    n: int,
) -> None:
    """The rows of a block, some of which may have to wait, one by one."""
    columns = Block(worker.block).columns
    for i in range(n):
        row = worker.row.pointer
        copy_row(columns, i, row, lanes)
        deliver(worker, to, row, rounds, ranks[i * rstep], diffs[i * dstep] * sign)


@kernel
def pour(
    worker: Worker,
    node: Node,
    edge: Edge,
    rows_at: int,
    row_step: int,
    lane_step: int,
    rounds: int,
    ranks: Words,
    rstep: int,
    diffs: Words,
    dstep: int,
    n: int,
) -> None:
    """A block of rows of the same rounds through an edge, to where it leads.

    needs:  lane k of row i lies at rows_at + i * row_step + k * lane_step, its rank at ranks + i * rstep, its diff at
            diffs + i * dstep; n <= BLOCK_ROWS; the edge takes blocks.
    """
    rounds = rounds_behind(worker, node, edge, rounds, ranks[0])
    if rounds < 0:
        return
    b = Block(worker.block)
    for k in range(node.lanes):
        set_column(b.columns, k, rows_at + k * lane_step, row_step)
    bank, to, sign, stages = b.banks, edge.to, edge.sign, edge.stage_count
    steps = stages + (worker.workers > 1 and edge.exchange != 0)
    for s in range(steps):
        if s == stages:
            kept = send_others(worker, to, edge.to_lanes, bank, rounds, ranks, rstep, diffs, dstep, sign, n)
        else:
            stage = Stage(edge.stages[s])
            if stage.kind == COPY:
                pick_lanes(b, stage)
                continue
            kept = run_program(worker, b, stage, bank, n, s == steps - 1)
            if kept < 0:
                refuse_in_block(worker, node, stage, -1 - kept, ranks[(-1 - kept) * rstep])
                return
        if kept < n and rstep:
            pack_column(b, ranks, rstep, b.ranks, kept, 0)
            ranks, rstep = b.ranks, 1
        if kept < n and dstep:
            pack_column(b, diffs, dstep, b.diffs, kept, 0)
            diffs, dstep = b.diffs, 1
        n = kept
        bank = b.banks + BANK if bank == b.banks else b.banks
    if n == 0:
        return
    if worker.general and not are_complete(worker, ranks, rstep, n):
        deliver_singly(worker, to, edge.to_lanes, rounds, ranks, rstep, diffs, dstep, sign, n)
    elif to.kind == OUTPUT:
        absorb_block(worker, to, ranks, rstep, diffs, dstep, sign, n)
    elif to.tally == 0:
        arrive(worker, to, rounds, ranks, rstep, diffs, dstep, sign, n)
    elif is_eager(worker, to.tally):
        bucket_for(worker, to, 0)
        run_block(worker, to, ranks, rstep, diffs, dstep, sign, n)
    else:
        wait_block(worker, to, ranks, rstep, diffs, dstep, sign, n)


@kernel
def pour_buffer(worker: Worker, node: Node, edge: Edge) -> None:
    """The rows in a node's buffer go through an edge that takes blocks."""
    width = node.lanes + 3
    n = node.buffer.length // width
    p = node.buffer.pointer
    at = 0
    while at < n and worker.error == 0:
        e = p + at * width
        m = min(BLOCK_ROWS, n - at)
        if node.tally == 0:  # outside loops there are no rounds
            m = 1
            while m < BLOCK_ROWS and at + m < n and e[m * width] == e[0]:
                m += 1
        pour(worker, node, edge, e + 3, width, 1, e[0], e + 1, width, e + 2, width, m)
        at += m
    worker.inserts += n


# ---- rows one by one -----------------------------------------------------------------------------------


@kernel
def deliver_buffer(worker: Worker, node: Node, edge: Edge) -> None:
    """The rows in a node's buffer go through an edge one by one."""
    n = node.buffer.length
    width = node.lanes + 3
    to = edge.to
    exchange = worker.workers > 1 and edge.exchange
    at = 0
    while at < n:
        e = node.buffer.pointer + at  # the buffer may move when an edge leads back to it
        at += width
        rounds = rounds_behind(worker, node, edge, e[0], e[1])
        if rounds < 0:
            if worker.error:
                break
            continue
        rank = e[1]
        diff = e[2] * edge.sign
        row = through(worker, edge, e + 3, node, rank)
        if row == 0:
            continue
        if exchange:
            owner = owner_of(worker, to, row)
            if owner != worker.me:
                send_row(worker, to, owner, row, rounds, rank, diff, edge.to_lanes)
                continue
        deliver(worker, to, row, rounds, rank, diff)
    worker.inserts += n // width


@kernel
def flush_edges(worker: Worker, node: Node, which: int) -> None:
    """Hand the node's buffered rows to the nodes behind all of its edges, or behind those that take them singly."""
    n = node.buffer.length
    if n == 0:
        return
    was_bulk = worker.delivers_bulk
    if n >= worker.seal * (node.lanes + 3) and worker.general == 0:
        worker.delivers_bulk = 1
    for k in range(node.edge_count):
        edge = Edge(node.edges[k])
        if not takes_blocks(worker, node, edge, n // (node.lanes + 3) if which == EVERY else worker.poured):
            deliver_buffer(worker, node, edge)
        elif which == EVERY:
            pour_buffer(worker, node, edge)
    worker.delivers_bulk = was_bulk
    node.buffer.length = 0
    if node.buffer.capacity >= HUGE:
        drop_vector(worker, node.buffer)
    node.least = (1 << 62) + ((1 << 62) - 1)


@kernel
def flush(worker: Worker, node: Node) -> None:
    """Hand the node's buffered rows to the nodes behind its edges."""
    flush_edges(worker, node, EVERY)


@inline
def is_heavy(worker: Worker, node: Node) -> bool:
    """Whether the rows in a node's buffer are worth moving on before there are more: they are still in the cache."""
    return node.buffer.length >= worker.seal * max(HEAVY, node.lanes + 3)


@kernel
def flush_joins(worker: Worker, node: Node) -> None:
    """The rows that the node's visits made its joins emit move on."""
    for family in range(2):
        p = node.readers[family].joins
        for i in range(node.readers[family].count):
            flush(worker, Node(p[2 * i]))


@inline
def lighten_joins(worker: Worker, node: Node, family: int) -> None:
    """The same in the midst of many visits, of joins that read a family and whose rows are worth it."""
    p = node.readers[family].joins
    for i in range(node.readers[family].count):
        if is_heavy(worker, Node(p[2 * i])):
            flush(worker, Node(p[2 * i]))


@kernel
def drain(worker: Worker) -> None:
    """Send on the corrections of totals once they are many, while more rows come in."""
    nodes = worker.nodes
    for i in range(worker.node_count):
        node = Node(nodes[i])
        if node.tally and is_heavy(worker, node):
            flush(worker, node)


@kernel
def pour_all(
    worker: Worker,
    node: Node,
    edge: Edge,
    rows_at: int,
    lane_step: int,
    ranks: int,
    rstep: int,
    diffs: int,
    dstep: int,
    n: int,
) -> None:
    """Rows that lie column by column go through an edge, block by block."""
    at = 0
    while at < n and worker.error == 0:
        m = min(BLOCK_ROWS, n - at)
        pour(
            worker,
            node,
            edge,
            rows_at + at,
            1,
            lane_step,
            0,
            Words(ranks + at * rstep),
            rstep,
            Words(diffs + at * dstep),
            dstep,
            m,
        )
        at += m
        drain(worker)


@kernel
def pour_columns(
    worker: Worker, node: Node, rows_at: int, lane_step: int, ranks: int, rstep: int, diffs: int, dstep: int, n: int
) -> int:
    """Rows that lie column by column go through the edges that take blocks.  Returns whether there are other edges."""
    others = False
    worker.poured = n
    was_bulk = worker.delivers_bulk
    worker.delivers_bulk = 1 if n >= worker.seal and worker.general == 0 else 0
    for k in range(node.edge_count):
        edge = Edge(node.edges[k])
        if not takes_blocks(worker, node, edge, n):
            others = True
            continue
        pour_all(worker, node, edge, rows_at, lane_step, ranks, rstep, diffs, dstep, n)
        worker.inserts += n
    worker.delivers_bulk = was_bulk
    return others


@kernel
def receive_block(worker: Worker, node: Node, rounds: int, at: int, step: int, n: int, m: int) -> None:
    """Deliver m rows of a run, of n lanes each."""
    b = Block(worker.block)
    for k in range(n):
        set_column(b.columns, k, at + SentRow.SIZE + k, step)
    ranks = Words(at)
    rstep = step
    if worker.general:
        for i in range(m):
            b.ranks[i] = intern_time(worker, Words(at + i * step + SentRow.SIZE + n))
        ranks = b.ranks
        rstep = 1
        if not are_complete(worker, ranks, rstep, m):
            deliver_singly(worker, node, n, rounds, ranks, rstep, Words(at + 1), step, 1, m)
            return
    arrive(worker, node, rounds, ranks, rstep, Words(at + 1), step, 1, m)


@kernel
def receive_run(worker: Worker, run: Run, c: int) -> Run:
    """Deliver a run; c: how many coordinates follow each row.  Returns where the next run begins."""
    n = run.lanes
    node = Node(worker.nodes[run.node])
    rounds = run.rounds
    step = row_words(n, c)
    at = run.rows
    end = end_of_run(run, c)
    takes_blocks = has_keys(node) and node.tally == 0
    worth = min(WORTH_A_BLOCK, worker.seal)
    if c == 0 and run.count >= worker.seal:
        worker.delivers_bulk = 1
    while at < end:
        m = min(BLOCK_ROWS, (end - at) // step)
        if takes_blocks and m >= worth:
            receive_block(worker, node, rounds, at, step, n, m)
            at += m * step
            continue
        row = worker.row.pointer
        rank = at[0]
        if c:
            copy_words(at + SentRow.SIZE + n, row, c)
            rank = intern_time(worker, row)
        copy_words(at + SentRow.SIZE, row, n)
        deliver(worker, node, row, rounds, rank, at[1])
        at += step
    worker.delivers_bulk = 0
    return end


@kernel
def receive_at(worker: Worker, p: Words, size: int) -> None:
    """Deliver the outbox of another worker: so many words at p."""
    c = coordinates_behind(worker)
    run = Run(p)
    while run < p + size and worker.error == 0:
        run = receive_run(worker, run, c)


@kernel
def release_held(worker: Worker, node: Node) -> None:
    """Deliver the held rows whose time has become complete; the others stay."""
    v = node.hold
    n = v.length
    if n == 0:
        return
    # what stays is pushed to HOLD again by `deliver`; take the old content aside first
    side = reserve(worker, node.side_rows, n)
    copy_words(v.pointer, side, n)
    v.length = 0
    at = 0
    while at < n:
        lanes = side[at]
        deliver(worker, node, side + at + 4, side[at + 1], side[at + 2], side[at + 3])
        at += 4 + lanes
