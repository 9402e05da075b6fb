"""Edge: a fused chain of linear actions, from a node's buffer of rows into the next node.

An edge has stages that compute lanes or drop rows, a sign, and what happens to the rounds (a mask for leaving loops, an
addition for the feedback of a loop). Rows arrive in the lane order of the receiving node.

Rule: a row is delivered once, to the worker that owns its key, at its own time; a row whose time is not complete is
held until it is.
"""

from __future__ import annotations

from ebbflow.expressions.interpreter import REGISTERS, interpret
from ebbflow.native.kernel import inline, kernel
from ebbflow.operators.arrive import are_complete, arrive
from ebbflow.operators.block import (
    BANK,
    BANKS,
    BLOCK_DIFFS,
    BLOCK_RANKS,
    BLOCK_ROWS,
    COLUMNS_AT,
    COPY,
    MOST_COLUMNS,
    copy_row,
    pack_column,
    pick_lanes,
    run_program,
    set_column,
)
from ebbflow.operators.consolidate import absorb, absorb_block
from ebbflow.operators.exchange.outbox import (
    ROW_LANES,
    RUN,
    RUN_COUNT,
    RUN_LANES,
    RUN_NODE,
    RUN_ROUNDS,
    coordinates_behind,
    end_of_run,
    owner_of,
    row_words,
    send_others,
    send_row,
)
from ebbflow.operators.node import (
    ARRANGE,
    B_BULK,
    B_ITEMS,
    BUFFER,
    EDGE_COUNT,
    EDGES,
    HOLD,
    KIND,
    LANES,
    LEAST,
    NUMBER,
    OP,
    OUTPUT,
    READERS,
    REDUCE,
    SETTLE,
    SIDE_ROWS,
    TALLY_AT,
    TB,
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
    BITS,
    BLOCK,
    CAP,
    DELIVERS_BULK,
    ERROR,
    GENERAL,
    GUARD,
    IN_ORDER,
    INSERTS,
    LEN,
    ME,
    NODE_COUNT,
    NODES,
    POURED,
    PTR,
    REFUSED,
    ROUNDS_OVERFLOW,
    ROW,
    ROW2,
    ROW_OVERFLOW,
    SEAL,
    WORKERS,
    copy_words,
    drop_vector,
    fail,
    hash_lanes,
    reserve,
)
from ebbflow.trace.segment import push_entry
from ebbflow.trace.spine import record_of
from ebbflow.trace.table import KEYS, WIDTH, segment_of
from ebbflow.trace.tally import T_EAGER

# ---- an edge ----------------------------------------------------------------------------------
TO, SIGN, MASK, ADD, FIELD, MOST, RAISES, EXCHANGE, STAGES, TO_LANES = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
FIRST_STAGE = 10

HEAVY = 8  # words for each row of the smallest bulk: a buffer of so many is emptied before it grows
HUGE = 1 << 20  # words of a buffer that is not kept for the next rows
EVERY, SINGLE = 0, 1  # which edges: all, or those that take rows one by one
WORTH_A_BLOCK = 32  # rows for arrangements and reductions


@inline
def has_keys(H, nd):
    """Whether rows that come to a node come to keys."""
    kind = H[nd + KIND]
    return kind == ARRANGE or kind == REDUCE or kind == SETTLE


@inline
def rounds_behind(H, W, nd, ed, rounds, rank):
    """The rounds that a row of these has behind an edge; -1 when it goes no further: a loop has had its rounds."""
    rounds = (rounds & H[ed + MASK]) + H[ed + ADD]
    if H[ed + ADD]:
        if rounds & H[W + GUARD]:
            fail(H, W, ROUNDS_OVERFLOW, H[nd + NUMBER], rank, 0)
            return -1
        if H[ed + MOST] >= 0 and ((rounds >> H[ed + FIELD]) & ((1 << H[W + BITS]) - 1)) >= H[ed + MOST]:
            if H[ed + RAISES] == 0:
                return -1
    return rounds


@kernel
def wait_at_tally(H, W, nd, row, rank, diff):
    """A row waits for its turn at a reduction that keeps sums: `rank, diff, lanes`."""
    v = bucket_for(H, W, nd, 0) + B_BULK
    n = row_lanes(H, nd)
    at = H[v + LEN]
    x = reserve(H, W, v, at + 2 + n) + at
    H[x] = rank
    H[x + 1] = diff
    copy_words(H, row, x + 2, n)
    H[v + LEN] = at + 2 + n


@kernel
def deliver(H, W, nd, row, rounds, rank, diff):
    """A row, in this node's lane order, has come to where it belongs."""
    kind = H[nd + KIND]
    if H[W + GENERAL] and not is_complete(H, W, rank):
        n = H[nd + LANES] if kind != REDUCE else H[H[nd + TB] + KEYS] + H[H[nd + TB] + WIDTH] - 2
        v = nd + HOLD
        at = H[v + LEN]
        x = reserve(H, W, v, at + 4 + n) + at
        H[x] = n
        H[x + 1] = rounds
        H[x + 2] = rank
        H[x + 3] = diff
        copy_words(H, row, x + 4, n)
        H[v + LEN] = at + 4 + n
        return
    if kind == OUTPUT:
        absorb(H, W, nd, row, rank, diff)
        return
    if not has_keys(H, nd):
        e = emit(H, W, nd, rounds, rank, diff)
        copy_words(H, row, e, H[nd + LANES])
        if rounds < H[nd + LEAST]:
            H[nd + LEAST] = rounds
        return
    if H[nd + TALLY_AT]:
        wait_at_tally(H, W, nd, row, rank, diff)
        return
    tb = H[nd + TB]
    nk = H[tb + KEYS]
    h = hash_lanes(H, row, nk)
    w = H[tb + WIDTH]
    if kind == REDUCE and H[W + DELIVERS_BULK] and H[nd + OP] != USER_FUNCTION:
        add_pending_row(H, W, bucket_for(H, W, nd, rounds) + B_BULK, h, rank, diff, row, nk + w - 2)
    elif kind == REDUCE:
        rc = record_of(H, W, tb, row, h)
        sg = segment_of(H, tb, rc, 0)
        touch_input(H, W, tb, rc, sg, w)
        push_entry(H, W, sg, w, rounds, rank, diff, row + nk)
        queue(H, W, nd, rc, rounds)
    else:
        add_pending_row(H, W, bucket_for(H, W, nd, rounds) + B_ITEMS, h, rank, diff, row, nk + w - 2)


@kernel
def refuse_row(H, W, stage, row, nd, rank):
    """An expression overflowed: remember the first such row, and where."""
    if H[W + ERROR] == 0:
        copy_words(H, row, reserve(H, W, W + REFUSED, H[stage + 2] + 1), H[stage + 2])
        H[W + REFUSED + LEN] = H[stage + 2]
        fail(H, W, ROW_OVERFLOW, H[nd + NUMBER], rank, stage)


@kernel
def through(H, W, ed, row, nd, rank):
    """Run the stages of an edge on a row.  Returns the address of the new row, 0 when it was dropped."""
    at = row
    bank = ROW
    for i in range(H[ed + STAGES]):
        stage = H[ed + FIRST_STAGE + i]
        to = H[W + bank + PTR]
        if H[stage] == COPY:
            for k in range(H[stage + 1]):
                H[to + k] = H[at + H[stage + 2 + k]]
        else:
            kept = interpret(H, H[stage + 1], at, to)
            if kept <= 0:
                if kept < 0:
                    refuse_row(H, W, stage, at, nd, rank)
                return 0
        at = to
        bank = ROW2 if bank == ROW else ROW
    return at


# ---- blocks of rows -----------------------------------------------------------------------------------


@inline
def takes_blocks(H, W, nd, ed, n):
    """Whether an edge takes n rows as a block: to where rows of this worker stay, if it is worth it there."""
    to = H[ed + TO]
    if H[nd + LANES] > MOST_COLUMNS or H[ed + TO_LANES] > MOST_COLUMNS:
        return False
    if H[W + WORKERS] > 1 and H[ed + EXCHANGE] and (H[to + TALLY_AT] or H[ed + TO_LANES] > REGISTERS):
        return False
    if H[to + KIND] == OUTPUT or H[to + TALLY_AT] != 0:
        return True
    return has_keys(H, to) and n >= min(WORTH_A_BLOCK, H[W + SEAL])


@inline
def is_eager(H, W, ty):
    return H[ty + T_EAGER] == 1 or (H[ty + T_EAGER] == 2 and H[W + IN_ORDER] == 1)


@kernel
def wait_block(H, W, nd, ranks, rstep, diffs, dstep, sign, n):
    """The block's rows wait for their turn at a reduction that keeps sums."""
    v = bucket_for(H, W, nd, 0) + B_BULK
    lanes = row_lanes(H, nd)
    step = 2 + lanes
    at = H[v + LEN]
    p = reserve(H, W, v, at + n * step) + at
    for i in range(n):
        H[p + i * step] = H[ranks + i * rstep]
        H[p + i * step + 1] = H[diffs + i * dstep] * sign
    columns = H[W + BLOCK] + COLUMNS_AT
    for k in range(lanes):
        c = H[columns + 2 * k]
        s = H[columns + 2 * k + 1]
        for i in range(n):
            H[p + i * step + 2 + k] = H[c + i * s]
    H[v + LEN] = at + n * step


@kernel
def refuse_in_block(H, W, nd, stage, row, rank):
    """Row number `row` of the block overflowed in a stage."""
    columns = H[W + BLOCK] + COLUMNS_AT
    at = H[W + ROW + PTR]
    for k in range(H[stage + 2]):
        H[at + k] = H[H[columns + 2 * k] + row * H[columns + 2 * k + 1]]
    refuse_row(H, W, stage, at, nd, rank)


@kernel
def deliver_singly(H, W, to, lanes, rounds, ranks, rstep, diffs, dstep, sign, n):
    """The rows of a block, some of which may have to wait, one by one."""
    columns = H[W + BLOCK] + COLUMNS_AT
    for i in range(n):
        row = H[W + ROW + PTR]
        copy_row(H, columns, i, row, lanes)
        deliver(H, W, to, row, rounds, H[ranks + i * rstep], H[diffs + i * dstep] * sign)


@kernel
def pour(H, W, nd, ed, rows_at, row_step, lane_step, rounds, ranks, rstep, diffs, dstep, n):
    """A block of rows of the same rounds through an edge, to where it leads.

    needs:  lane k of row i lies at rows_at + i * row_step + k * lane_step, its rank at ranks + i * rstep, its diff at
            diffs + i * dstep; n <= BLOCK_ROWS; the edge takes blocks.
    """
    rounds = rounds_behind(H, W, nd, ed, rounds, H[ranks])
    if rounds < 0:
        return
    b = H[W + BLOCK]
    columns = b + COLUMNS_AT
    for k in range(H[nd + LANES]):
        set_column(H, columns, k, rows_at + k * lane_step, row_step)
    bank = b + BANKS
    to = H[ed + TO]
    sign = H[ed + SIGN]
    stages = H[ed + STAGES]
    steps = stages + (H[W + WORKERS] > 1 and H[ed + EXCHANGE] != 0)
    for s in range(steps):
        if s == stages:
            kept = send_others(H, W, to, H[ed + TO_LANES], bank, rounds, ranks, rstep, diffs, dstep, sign, n)
        else:
            stage = H[ed + FIRST_STAGE + s]
            if H[stage] == COPY:
                pick_lanes(H, b, stage)
                continue
            kept = run_program(H, W, b, stage, bank, n, s == steps - 1)
            if kept < 0:
                refuse_in_block(H, W, nd, stage, -1 - kept, H[ranks + (-1 - kept) * rstep])
                return
        if kept < n and rstep:
            pack_column(H, b, ranks, rstep, b + BLOCK_RANKS, kept, 0)
            ranks = b + BLOCK_RANKS
            rstep = 1
        if kept < n and dstep:
            pack_column(H, b, diffs, dstep, b + BLOCK_DIFFS, kept, 0)
            diffs = b + BLOCK_DIFFS
            dstep = 1
        n = kept
        bank = b + BANKS + BANK if bank == b + BANKS else b + BANKS
    if n == 0:
        return
    if H[W + GENERAL] and not are_complete(H, W, ranks, rstep, n):
        deliver_singly(H, W, to, H[ed + TO_LANES], rounds, ranks, rstep, diffs, dstep, sign, n)
    elif H[to + KIND] == OUTPUT:
        absorb_block(H, W, to, ranks, rstep, diffs, dstep, sign, n)
    elif H[to + TALLY_AT] == 0:
        arrive(H, W, to, rounds, ranks, rstep, diffs, dstep, sign, n)
    elif is_eager(H, W, H[to + TALLY_AT]):
        bucket_for(H, W, to, 0)
        run_block(H, W, to, ranks, rstep, diffs, dstep, sign, n)
    else:
        wait_block(H, W, to, ranks, rstep, diffs, dstep, sign, n)


@kernel
def pour_buffer(H, W, nd, ed):
    """The rows in a node's buffer go through an edge that takes blocks."""
    width = H[nd + LANES] + 3
    n = H[nd + BUFFER + LEN] // width
    p = H[nd + BUFFER + PTR]
    at = 0
    while at < n and H[W + ERROR] == 0:
        e = p + at * width
        m = min(BLOCK_ROWS, n - at)
        if H[nd + TALLY_AT] == 0:  # outside loops there are no rounds
            m = 1
            while m < BLOCK_ROWS and at + m < n and H[e + m * width] == H[e]:
                m += 1
        pour(H, W, nd, ed, e + 3, width, 1, H[e], e + 1, width, e + 2, width, m)
        at += m
    H[W + INSERTS] += n


# ---- rows one by one -----------------------------------------------------------------------------------


@kernel
def deliver_buffer(H, W, nd, ed):
    """The rows in a node's buffer go through an edge one by one."""
    n = H[nd + BUFFER + LEN]
    width = H[nd + LANES] + 3
    to = H[ed + TO]
    exchange = H[W + WORKERS] > 1 and H[ed + EXCHANGE]
    at = 0
    while at < n:
        e = H[nd + BUFFER + PTR] + at  # the buffer may move when an edge leads back to it
        at += width
        rounds = rounds_behind(H, W, nd, ed, H[e], H[e + 1])
        if rounds < 0:
            if H[W + ERROR]:
                break
            continue
        rank = H[e + 1]
        diff = H[e + 2] * H[ed + SIGN]
        row = through(H, W, ed, e + 3, nd, rank)
        if row == 0:
            continue
        if exchange:
            owner = owner_of(H, W, to, row)
            if owner != H[W + ME]:
                send_row(H, W, to, owner, row, rounds, rank, diff, H[ed + TO_LANES])
                continue
        deliver(H, W, to, row, rounds, rank, diff)
    H[W + INSERTS] += n // width


@kernel
def flush_edges(H, W, nd, which):
    """Hand the node's buffered rows to the nodes behind all of its edges, or behind those that take them singly."""
    n = H[nd + BUFFER + LEN]
    if n == 0:
        return
    was_bulk = H[W + DELIVERS_BULK]
    if n >= H[W + SEAL] * (H[nd + LANES] + 3) and H[W + GENERAL] == 0:
        H[W + DELIVERS_BULK] = 1
    for k in range(H[nd + EDGE_COUNT]):
        ed = H[H[nd + EDGES] + k]
        if not takes_blocks(H, W, nd, ed, n // (H[nd + LANES] + 3) if which == EVERY else H[W + POURED]):
            deliver_buffer(H, W, nd, ed)
        elif which == EVERY:
            pour_buffer(H, W, nd, ed)
    H[W + DELIVERS_BULK] = was_bulk
    H[nd + BUFFER + LEN] = 0
    if H[nd + BUFFER + CAP] >= HUGE:
        drop_vector(H, W, nd + BUFFER)
    H[nd + LEAST] = (1 << 62) + ((1 << 62) - 1)


@kernel
def flush(H, W, nd):
    """Hand the node's buffered rows to the nodes behind its edges."""
    flush_edges(H, W, nd, EVERY)


@inline
def is_heavy(H, W, nd):
    """Whether the rows in a node's buffer are worth moving on before there are more: they are still in the cache."""
    return H[nd + BUFFER + LEN] >= H[W + SEAL] * max(HEAVY, H[nd + LANES] + 3)


@kernel
def flush_joins(H, W, nd):
    """The rows that the node's visits made its joins emit move on."""
    for family in range(2):
        p = H[nd + READERS + 2 * family]
        for i in range(H[nd + READERS + 2 * family + 1]):
            flush(H, W, H[p + 2 * i])


@inline
def lighten_joins(H, W, nd, family):
    """The same in the midst of many visits, of joins that read a family and whose rows are worth it."""
    p = H[nd + READERS + 2 * family]
    for i in range(H[nd + READERS + 2 * family + 1]):
        if is_heavy(H, W, H[p + 2 * i]):
            flush(H, W, H[p + 2 * i])


@kernel
def drain(H, W):
    """Send on the corrections of totals once they are many, while more rows come in."""
    nodes = H[W + NODES]
    for i in range(H[W + NODE_COUNT]):
        nd = H[nodes + i]
        if H[nd + TALLY_AT] and is_heavy(H, W, nd):
            flush(H, W, nd)


@kernel
def pour_all(H, W, nd, ed, rows_at, lane_step, ranks, rstep, diffs, dstep, n):
    """Rows that lie column by column go through an edge, block by block."""
    at = 0
    while at < n and H[W + ERROR] == 0:
        m = min(BLOCK_ROWS, n - at)
        pour(H, W, nd, ed, rows_at + at, 1, lane_step, 0, ranks + at * rstep, rstep, diffs + at * dstep, dstep, m)
        at += m
        drain(H, W)


@kernel
def pour_columns(H, W, nd, rows_at, lane_step, ranks, rstep, diffs, dstep, n):
    """Rows that lie column by column go through the edges that take blocks.  Returns whether there are other edges."""
    others = False
    H[W + POURED] = n
    was_bulk = H[W + DELIVERS_BULK]
    H[W + DELIVERS_BULK] = 1 if n >= H[W + SEAL] and H[W + GENERAL] == 0 else 0
    for k in range(H[nd + EDGE_COUNT]):
        ed = H[H[nd + EDGES] + k]
        if not takes_blocks(H, W, nd, ed, n):
            others = True
            continue
        pour_all(H, W, nd, ed, rows_at, lane_step, ranks, rstep, diffs, dstep, n)
        H[W + INSERTS] += n
    H[W + DELIVERS_BULK] = was_bulk
    return others


@kernel
def receive_block(H, W, nd, rounds, at, step, n, m):
    """Deliver m rows of a run, of n lanes each."""
    b = H[W + BLOCK]
    for k in range(n):
        set_column(H, b + COLUMNS_AT, k, at + ROW_LANES + k, step)
    ranks = at
    rstep = step
    if H[W + GENERAL]:
        for i in range(m):
            H[b + BLOCK_RANKS + i] = intern_time(H, W, at + i * step + ROW_LANES + n)
        ranks = b + BLOCK_RANKS
        rstep = 1
        if not are_complete(H, W, ranks, rstep, m):
            deliver_singly(H, W, nd, n, rounds, ranks, rstep, at + 1, step, 1, m)
            return
    arrive(H, W, nd, rounds, ranks, rstep, at + 1, step, 1, m)


@kernel
def receive_run(H, W, run, c):
    """Deliver a run; c: how many coordinates follow each row.  Returns where the next run begins."""
    n = H[run + RUN_LANES]
    nd = H[H[W + NODES] + H[run + RUN_NODE]]
    rounds = H[run + RUN_ROUNDS]
    step = row_words(n, c)
    at = run + RUN
    end = end_of_run(H, run, c)
    takes_blocks = has_keys(H, nd) and H[nd + TALLY_AT] == 0
    worth = min(WORTH_A_BLOCK, H[W + SEAL])
    if c == 0 and H[run + RUN_COUNT] >= H[W + SEAL]:
        H[W + DELIVERS_BULK] = 1
    while at < end:
        m = min(BLOCK_ROWS, (end - at) // step)
        if takes_blocks and m >= worth:
            receive_block(H, W, nd, rounds, at, step, n, m)
            at += m * step
            continue
        row = H[W + ROW + PTR]
        rank = H[at]
        if c:
            copy_words(H, at + ROW_LANES + n, row, c)
            rank = intern_time(H, W, row)
        copy_words(H, at + ROW_LANES, row, n)
        deliver(H, W, nd, row, rounds, rank, H[at + 1])
        at += step
    H[W + DELIVERS_BULK] = 0
    return end


@kernel
def receive_at(H, W, p, size):
    """Deliver the outbox of another worker: so many words at p."""
    c = coordinates_behind(H, W)
    run = p
    while run < p + size and H[W + ERROR] == 0:
        run = receive_run(H, W, run, c)


@kernel
def release_held(H, W, nd):
    """Deliver the held rows whose time has become complete; the others stay."""
    v = nd + HOLD
    n = H[v + LEN]
    if n == 0:
        return
    # what stays is pushed to HOLD again by `deliver`; take the old content aside first
    side = reserve(H, W, nd + SIDE_ROWS, n)
    copy_words(H, H[v + PTR], side, n)
    H[v + LEN] = 0
    at = 0
    while at < n:
        lanes = H[side + at]
        deliver(H, W, nd, side + at + 4, H[side + at + 1], H[side + at + 2], H[side + at + 3])
        at += 4 + lanes
