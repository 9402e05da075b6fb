"""Walk: the compiled driver, which visits nodes round by round until nothing is pending.

The plan is a short program: visit a node, begin a loop, end it, wait at a barrier, stop. Rounds are packed into one
word whose integer order is the order of the walk. Where a user's function, another worker or Python is needed, the walk
saves its position and returns a reason; it is then called again.

Rule: a node is visited at some rounds only when nothing earlier is pending in its loop.
"""

from __future__ import annotations

import numpy as np

from ebbflow.expressions.interpreter import interpret
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.memory import all_memory
from ebbflow.operators.arrange import visit_rows
from ebbflow.operators.consolidate import SHOWS_WIDE, count_rows, forget_rows, take_rows
from ebbflow.operators.edges import (
    SINGLE,
    flush,
    flush_edges,
    flush_joins,
    is_heavy,
    lighten_joins,
    pour_columns,
    release_held,
)
from ebbflow.operators.exchange.barrier import (
    agree_on,
    arrive,
    begin_outboxes,
    clear_outboxes,
    is_stopped,
    publish_least,
    receive_all,
    wait_for_all,
)
from ebbflow.operators.exchange.outbox import least_in_outbox, outbox_for
from ebbflow.operators.node import (
    ARRANGE,
    B_BULK,
    B_ITEMS,
    B_PARTITIONS,
    B_SERIAL,
    BUCKET,
    BUCKETS,
    BUFFER,
    CALL_ARGS,
    DELAY,
    KIND,
    LANES,
    LEAST,
    MOST_ROUNDS,
    NOTHING,
    NUMBER,
    OP,
    OUTPUT,
    OUTSIDE,
    OWES,
    PASS,
    POSITION,
    REDUCE,
    ROUNDS_FIELD,
    SETTLE,
    SIDE_ROWS,
    SPEC,
    TALLY_AT,
    TB,
    WAIT,
    clear_pending,
    emit,
    queue,
)
from ebbflow.operators.prefetch import AHEAD, prefetch_slots, prefetch_visits
from ebbflow.operators.reduce.answers import USER_FUNCTION
from ebbflow.operators.reduce.bulk_reduce import admit_bulk, seal_stream, stream_record
from ebbflow.operators.reduce.totals.accumulators import touch_input
from ebbflow.operators.reduce.totals.close import close_moment
from ebbflow.operators.reduce.totals.fold import run_pending
from ebbflow.operators.reduce.visit import hear, request_visit, visit_reduce
from ebbflow.trace.clock import intern_time, is_complete, row_of
from ebbflow.trace.heap import (
    AGREED,
    BACKWARDS,
    BARRIER,
    BARRIER_COUNT,
    BEST,
    BITS,
    CAP,
    COORDS,
    DELIVERS_BULK,
    EARLY,
    EFFORT,
    ERROR,
    FIRST,
    FUEL,
    GENERAL,
    IN_ORDER,
    KEEP,
    KEY_AT,
    LEN,
    LIMIT,
    LOOP_AT,
    LOOSE,
    MOMENTS,
    NODE_COUNT,
    NODES,
    OVERFLOW,
    PC,
    PHASE,
    PTR,
    QUIET,
    ROUNDS,
    ROUNDS_OVERFLOW,
    ROW,
    SAVES_SEGMENTS,
    SEAL,
    STAGE,
    STEP,
    STREAM,
    UNDO,
    USED_UP,
    VISITS,
    WIDE_SHOWN,
    WORKERS,
    alloc,
    copy_words,
    fail,
    hash_lanes,
    is_used_up,
    push_word,
    release,
    reserve,
)
from ebbflow.trace.segment import OLD, STAMP, push_entry, shrink, sort_rows, touch
from ebbflow.trace.spine import cut_spine, tend
from ebbflow.trace.table import (
    ADDRESS,
    COUNT,
    DONE,
    EVICT_AT,
    FAMILIES,
    HAND,
    KEYS,
    LAST_COUNT,
    MARK,
    MASK,
    RECORD,
    SEGMENT,
    SEGMENTS,
    SLOTS_AT,
    SWEEP_AT,
    SWEEP_FUEL,
    WIDTH,
    forget_key,
    resize,
    segment_of,
)
from ebbflow.trace.tally import undo_tally

# ---- the program: four words an instruction -----------------------------------------------------
NODE_AT, LOOP, END, STOP, SYNC = 0, 1, 2, 3, 4
INSTRUCTION = 4
# ---- why the walk came back ---------------------------------------------------------------------
FINISHED, ASKS, CALLS, AT_BARRIER, PAUSED, FAILED = 0, 1, 2, 3, 4, 5
WAITS = 6  # for workers in other threads, longer than it may without returning
# ---- how a step ended: the reason, then -----------------------------------------------------------
REASON, IS_LOOSE, IS_WIDE = 7, 8, 16  # a mask; bits: there is memory to return, a row comes very often
GIVES = 5  # by how many bits the rows are shifted

FULL = 1 << 22  # visits and pairs until the walk returns, so that it can be interrupted
LONG = 256  # slices without use, after which a key is cold
MOST_SWEPT = 1 << 14  # slots looked at between two advances
MOST_OWED = 1 << 18  # slots that growth, however large, gives cause to look at
NULL = -9223372036854775808


@inline
def pending_at(H, nd):
    """The least rounds with something to do at a node, NOTHING when there is nothing."""
    kind = H[nd + KIND]
    if kind == PASS or kind == OUTSIDE or kind == DELAY or kind == WAIT:
        return H[nd + LEAST] if H[nd + BUFFER + LEN] else NOTHING
    n = H[nd + BUCKETS + LEN]
    return H[H[nd + BUCKETS + PTR] + n - BUCKET] if n else NOTHING


@kernel
def least_in(H, W, pc):
    """The least pending rounds among the nodes of the loop that begins at pc.

    leaves: the same in BEST; in EARLY, those among the nodes before the last barrier in the loop.
    """
    past = H[pc + 1]
    best = NOTHING
    early = NOTHING
    x = pc + INSTRUCTION
    while x < past:
        if H[x] == NODE_AT:
            r = pending_at(H, H[x + 1])
            if r < best:
                best = r
        elif H[x] == SYNC and early >= 0:
            early = best
        elif H[x] == LOOP:
            early = -1  # which workers reach a barrier of an inner loop is not known before
        x += INSTRUCTION
    H[W + BEST] = best
    H[W + EARLY] = early
    return best


@kernel
def count_outboxes(H, W, pc):
    """Rows that were sent to other workers count as pending here, until these have them.

    leaves: BEST and EARLY as `least_in` found them for the loop that begins at pc, or less if outboxes have less.
    """
    last = 0  # the loop's last barrier
    start = 0  # where the program begins
    for x in range(pc + INSTRUCTION, H[pc + 1], INSTRUCTION):
        if H[x] == SYNC:
            last = x
        elif H[x] == NODE_AT:
            start = x - INSTRUCTION * H[H[x + 1] + POSITION]
    first = (pc - start) // INSTRUCTION
    past = (H[pc + 1] - start) // INSTRUCTION
    for i in range(H[W + WORKERS]):
        outbox = outbox_for(H, W, i)
        if H[outbox + LEN]:
            H[W + BEST] = min(H[W + BEST], least_in_outbox(H, W, outbox, first, past))
            if last and H[W + EARLY] >= 0:
                early = least_in_outbox(H, W, outbox, first, (last - start) // INSTRUCTION)
                H[W + EARLY] = min(H[W + EARLY], early)


@kernel
def reach_barrier(H, W, loop):
    """Wait for the other workers of this process at a barrier.  Returns False while one is missing, and is then to be
    called again, or when all are to stop.

    leaves: all outboxes delivered; at a loop (its instruction; 0: none), in AGREED the least rounds pending anywhere.
    """
    if is_stopped(H, W):
        return False
    if H[W + STAGE] == 0:
        if loop:
            least_in(H, W, loop)
            count_outboxes(H, W, loop)
            publish_least(H, W)
        arrive(H, W)
        H[W + STAGE] = 1
    if not wait_for_all(H, W):
        return False
    receive_all(H, W)
    if loop:
        agree_on(H, W)
    begin_outboxes(H, W, H[W + BARRIER_COUNT] + 1)
    H[W + STAGE] = 0
    return True


@kernel
def visit_keys(H, W, nd, bucket, rounds):
    """Every key that waits in a bucket of a reduce.

    needs:  the bucket has been taken out of the node's list.
    """
    tb = H[nd + TB]
    nk = H[tb + KEYS]
    serial = H[bucket + B_SERIAL]
    p = H[bucket + B_ITEMS + PTR]
    n = H[bucket + B_ITEMS + LEN]
    cap = H[bucket + B_ITEMS + CAP]
    asks = H[nd + OP] == USER_FUNCTION
    for i in range(n):
        if i % AHEAD == 0:
            prefetch_visits(H, W, nd, tb, 1, p + i, 1, min(AHEAD, n - i))
        rc = H[p + i]
        if H[rc + nk + DONE] == serial:
            continue
        if H[W + ERROR]:
            break  # the key it was remains the last one looked at
        H[rc + nk + DONE] = serial
        H[W + VISITS] += 1
        H[W + FUEL] -= 8
        H[W + KEY_AT] = rc
        if asks:
            request_visit(H, W, nd, tb, rc, rounds)
        else:
            visit_reduce(H, W, nd, tb, rc, rounds)
            if is_heavy(H, W, nd):
                flush(H, W, nd)
            lighten_joins(H, W, nd, 1)
    if cap:
        release(H, W, p, cap)


@kernel
def delay_rows(H, W, nd):
    """Move the times of the node's rows later, by its expression over the coordinates."""
    c = H[W + COORDS]
    w = H[nd + LANES] + 3
    for at in range(0, H[nd + BUFFER + LEN], w):
        e = H[nd + BUFFER + PTR] + at
        to = H[W + ROW + PTR]
        source = row_of(H, W, H[e + 1])
        if interpret(H, H[nd + SPEC], source, to) < 0:
            fail(H, W, OVERFLOW, H[nd + NUMBER], H[e + 1], H[source])
            return
        for k in range(c):
            if H[to + k] == NULL or H[to + k] < H[source + k]:
                fail(H, W, BACKWARDS, H[nd + NUMBER], H[e + 1], H[to + k])
                return
        H[e + 1] = intern_time(H, W, to)


@kernel
def raise_rounds(H, W, nd):
    """Move the node's rows to the round that one of their lanes names; where the loop ends before it, they end here.

    needs:  rows at round 0 of the node's loop.
    """
    width = H[nd + LANES] + 3
    most = H[nd + MOST_ROUNDS]
    p = H[nd + BUFFER + PTR]
    kept = 0
    for at in range(0, H[nd + BUFFER + LEN], width):
        e = p + at
        k = max(H[e + 3 + H[nd + SPEC]], 0)
        if k >> H[W + BITS]:
            if most < 0 or k < most:
                fail(H, W, ROUNDS_OVERFLOW, H[nd + NUMBER], H[e + 1], k)
                return
        elif most < 0 or k < most:
            H[e] += k << H[nd + ROUNDS_FIELD]
            copy_words(H, e, p + kept, width)
            kept += width
    H[nd + BUFFER + LEN] = kept


@kernel
def walk(H, W):
    """Go on from where the walk stands until it is finished, or something outside is needed.  Returns the reason."""
    pc = H[W + PC]
    cur = H[W + ROUNDS]
    phase = H[W + PHASE]
    many = H[W + WORKERS] > 1
    while True:
        H[W + PC] = pc
        H[W + ROUNDS] = cur
        H[W + PHASE] = 0
        if is_used_up(H, W):  # blocks that lie free are given without a look at the limit
            fail(H, W, USED_UP, pc, 0, H[W + LIMIT] - W)
        if H[W + ERROR]:
            return FAILED
        if H[W + FUEL] < 0:
            H[W + PHASE] = phase
            return PAUSED
        op = H[pc]
        if op == NODE_AT:
            nd = H[pc + 1]
            kind = H[nd + KIND]
            if phase == 1:  # the user's answers are there
                hear(H, W, nd, H[nd + TB], cur)
                flush(H, W, nd)
                flush_joins(H, W, nd)
                phase = 0
            elif kind == ARRANGE or kind == SETTLE or kind == REDUCE:
                n = H[nd + BUCKETS + LEN] - BUCKET
                bucket = H[nd + BUCKETS + PTR] + n
                if n >= 0 and H[bucket] == cur:
                    if H[nd + TALLY_AT]:
                        run_pending(H, W, nd)
                        while H[W + ERROR] == 0 and close_moment(H, W, nd, H[nd + TALLY_AT]):
                            flush(H, W, nd)
                        n = H[nd + BUCKETS + LEN] - BUCKET
                        bucket = H[nd + BUCKETS + PTR] + n
                    elif kind == REDUCE and (H[bucket + B_BULK + LEN] or H[bucket + B_PARTITIONS]):
                        admit_bulk(H, W, nd, cur)
                        n = H[nd + BUCKETS + LEN] - BUCKET
                        bucket = H[nd + BUCKETS + PTR] + n
                    H[nd + BUCKETS + LEN] = n
                    if kind == REDUCE:
                        visit_keys(H, W, nd, bucket, cur)
                        if H[nd + CALL_ARGS + LEN]:
                            H[W + PHASE] = 1
                            H[W + LOOP_AT] = nd
                            return ASKS
                    else:
                        visit_rows(H, W, nd, bucket, cur)
                    flush(H, W, nd)
                    flush_joins(H, W, nd)
            elif H[nd + BUFFER + LEN]:
                if kind == OUTSIDE:
                    H[W + PC] = pc + INSTRUCTION
                    H[W + LOOP_AT] = nd
                    return CALLS
                if kind == DELAY:
                    delay_rows(H, W, nd)
                elif kind == WAIT:
                    raise_rounds(H, W, nd)
                if kind != OUTPUT:
                    flush(H, W, nd)
            pc += INSTRUCTION
        elif op == LOOP:
            if many and phase == 0:
                H[W + LOOP_AT] = pc
                H[W + QUIET] = 0
                if H[W + BARRIER] == 0:
                    return AT_BARRIER
                if not reach_barrier(H, W, pc):
                    return WAITS
            best = H[W + AGREED] if many else least_in(H, W, pc)
            phase = 0
            cur &= H[pc + 2]
            H[W + FUEL] -= 32
            if best != NOTHING and (best & H[pc + 2]) == cur:
                cur = best & H[pc + 3]
                pc += INSTRUCTION
            else:
                H[W + QUIET] = 0
                pc = H[pc + 1]
        elif op == END:
            pc = H[pc + 1]
        elif op == SYNC:
            if phase == 0 and H[W + QUIET] == 0:
                H[W + LOOP_AT] = 0
                if H[W + BARRIER] == 0:
                    return AT_BARRIER
                if not reach_barrier(H, W, 0):
                    return WAITS
            phase = 0
            pc += INSTRUCTION
        else:
            return FINISHED


@kernel
def put_rows(H, W, nd, rows, words):
    """Rows [lanes, n] with `words` = rounds, ranks and diffs one after the other into the node's buffer."""
    n = rows.shape[1]
    for i in range(n):
        e = emit(H, W, nd, words[i], words[n + i], words[2 * n + i])
        for k in range(rows.shape[0]):
            H[e + k] = rows[k, i]
        if words[i] < H[nd + LEAST]:
            H[nd + LEAST] = words[i]


@kernel
def feed_columns(H, W, nd, lanes, columns, far, ranks, rstep, diffs, dstep, n):
    """Rows that lie column by column, so far apart, enter at an input, and go where its edges lead."""
    in_order = 1
    for i in range(1, n * rstep):
        if H[ranks + i] < H[ranks + i - 1]:
            in_order = 0
            break
    H[W + IN_ORDER] = in_order
    if not pour_columns(H, W, nd, columns, far, ranks, rstep, diffs, dstep, n):
        return
    H[W + DELIVERS_BULK] = 1 if n >= H[W + SEAL] and H[W + GENERAL] == 0 else 0
    for i in range(n):
        e = emit(H, W, nd, 0, H[ranks + i * rstep], H[diffs + i * dstep])
        for k in range(lanes):
            H[e + k] = H[columns + k * far + i]
        if i % 4096 == 4095:
            flush_edges(H, W, nd, SINGLE)
            if H[W + ERROR]:
                break
    flush_edges(H, W, nd, SINGLE)
    H[W + DELIVERS_BULK] = 0


@kernel
def feed_rows(H, W, nd, rows, moments, words):
    """Rows [lanes, n] enter at an input.

    moments: their ranks, or the one that all of them have; words: their diffs, likewise.
    """
    lanes, n = rows.shape
    columns = np.int64(rows.ctypes.data) // 8 - 1
    ranks = np.int64(moments.ctypes.data) // 8 - 1
    diffs = np.int64(words.ctypes.data) // 8 - 1
    feed_columns(H, W, nd, lanes, columns, n, ranks, int(len(moments) == n), diffs, int(len(words) == n), n)


@kernel
def feed_everywhere(headers, nodes, count, rows, moments, words):
    """The same, a part of the rows at each of the workers whose headers and nodes of the input are listed at these
    addresses; the exchange brings them where they belong.
    """
    H = all_memory()
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
            nd = H[nodes + i]
            feed_columns(
                H, H[headers + i], nd, lanes, columns + a, n, ranks + a * rstep, rstep, diffs + a * dstep, dstep, m
            )


@kernel
def is_dead(H, W, tb, rc):
    """Whether nothing is left of a key, once its entries are folded."""
    nk = H[tb + KEYS]
    for f in range(H[tb + FAMILIES]):
        sg = rc + nk + SEGMENTS + f * SEGMENT
        stamp = H[sg + STAMP]
        if f == 0:
            touch_input(H, W, tb, rc, sg, H[tb + WIDTH])
        elif f == 1:
            touch(H, W, sg, H[tb + WIDTH + 1])
        H[sg + STAMP] = stamp  # to be looked at is not to be used
    for f in range(H[tb + FAMILIES]):
        if H[rc + nk + SEGMENTS + f * SEGMENT + LEN]:
            return False
    return True


@kernel
def last_touch(H, tb, rc):
    """The last slice that used a key."""
    last = 0
    for f in range(min(2, H[tb + FAMILIES])):
        last = max(last, H[rc + H[tb + KEYS] + SEGMENTS + f * SEGMENT + STAMP])
    return last


@kernel
def seal_records(H, W, tb, p, n):
    """Seal n records that are no longer in the table, `record, 0, hash` each at p."""
    sort_rows(H, W, p, n, 3)
    H[W + STREAM + LEN] = 0
    for i in range(n):
        stream_record(H, W, tb, H[p + 3 * i])
    seal_stream(H, W, tb)


@kernel
def shrink_slots(H, W, tb):
    """A table with far more slots than records gets fewer."""
    n = H[tb + COUNT]
    if H[tb + MASK] > 1024 and n * 16 < H[tb + MASK]:
        size = 16
        while size < 4 * n:
            size *= 2
        resize(H, W, tb, size)


@kernel
def shrink_table(H, W, tb, forgets):
    """Give back what the keys of a table do not need: room of their segments, and keys that have no entry.

    needs:  between two advances, with nothing pending at the table's node; nothing owed there, if it forgets keys.
    leaves: every entry as it is: nothing is folded.
    """
    nk = H[tb + KEYS]
    i = 0
    while i <= H[tb + MASK]:
        rc = H[H[tb + SLOTS_AT] + i] & ADDRESS
        entries = 0
        if rc:
            for f in range(H[tb + FAMILIES]):
                sg = rc + nk + SEGMENTS + f * SEGMENT
                shrink(H, W, sg, H[tb + WIDTH + f])
                entries += H[sg + LEN]
        if rc and entries == 0 and forgets:
            forget_key(H, tb, rc, hash_lanes(H, rc, nk))
            release(H, W, rc, H[tb + RECORD])
        else:
            i += 1
    H[tb + HAND] = -1
    shrink_slots(H, W, tb)


@kernel
def sweep(H, W, tb, fuel):
    """Look at some slots of a table: forget keys of which nothing is left, and seal cold ones when there are too many.

    needs:  between two advances, with nothing pending or owed at the table's node.
    """
    cold = W + MOMENTS
    H[cold + LEN] = 0
    slots = H[tb + SLOTS_AT]
    most = H[W + KEEP] - (H[W + KEEP] >> 3)
    evicts = H[W + GENERAL] == 0 and H[tb + FAMILIES] > 0
    i = H[tb + HAND]
    while fuel > 0 and i <= H[tb + MASK]:
        if i % AHEAD == 0:
            prefetch_slots(H, W, tb, i, AHEAD)
        fuel -= 1
        rc = H[slots + i] & ADDRESS
        if rc == 0:
            i += 1
            continue
        last = last_touch(H, tb, rc)
        if is_dead(H, W, tb, rc):
            forget_key(H, tb, rc, hash_lanes(H, rc, H[tb + KEYS]))
            release(H, W, rc, H[tb + RECORD])
        elif evicts and last <= H[tb + MARK] and H[tb + COUNT] > most:
            h = hash_lanes(H, rc, H[tb + KEYS])
            forget_key(H, tb, rc, h)
            push_word(H, W, cold, rc)
            push_word(H, W, cold, 0)
            push_word(H, W, cold, h)
        else:
            i += 1
    H[tb + HAND] = i
    if H[cold + LEN]:
        seal_records(H, W, tb, H[cold + PTR], H[cold + LEN] // 3)
    if i > H[tb + MASK]:
        H[tb + HAND] = -1
        n = H[tb + COUNT]
        H[tb + SWEEP_AT] = 2 * n + 1024
        H[tb + EVICT_AT] = n + (n >> 3)
        shrink_slots(H, W, tb)


@kernel
def tidy_table(H, W, tb, fuel):
    """Go on with the sweep of a table, or begin one where it is worth it, and with the merges behind it."""
    n = H[tb + COUNT]
    grown = max(0, n - H[tb + LAST_COUNT])
    H[tb + LAST_COUNT] = n
    if H[tb + HAND] < 0:
        many = n > H[W + KEEP] and n > H[tb + EVICT_AT] and H[W + GENERAL] == 0
        if many or n > H[tb + SWEEP_AT]:
            H[tb + HAND] = 0
            # a little too many: only what was not used for long leaves; far too many: whatever is not used meanwhile
            H[tb + MARK] = H[W + STEP] if n > 2 * H[W + KEEP] else H[W + STEP] - LONG
    if H[tb + HAND] >= 0:
        H[tb + SWEEP_FUEL] += (fuel >> 2) + 1 + min(8 * grown, MOST_OWED)
        if H[tb + SWEEP_FUEL] >= 4 * H[W + EFFORT]:
            spent = min(H[tb + SWEEP_FUEL], MOST_SWEPT)
            sweep(H, W, tb, spent)
            H[tb + SWEEP_FUEL] = H[tb + SWEEP_FUEL] - spent if H[tb + HAND] >= 0 else 0
    tend(H, W, tb, fuel)


@kernel
def tidy(H, W, step, fuel):
    """Between two advances, as a slice of its own: a bounded part of what keeps the state small.

    leaves: nothing to undo: records that the last advance saved may be gone.
    """
    H[W + STEP] = step
    H[W + FIRST] = step + 1
    H[W + SAVES_SEGMENTS] = 0
    H[W + UNDO + LEN] = 0
    for i in range(H[W + NODE_COUNT]):
        nd = H[H[W + NODES] + i]
        if H[nd + TB] and H[nd + OWES + LEN] == 0:
            tidy_table(H, W, H[nd + TB], fuel)


@kernel
def outcome(H, W, reason):
    """How a step ended, in one word: the reason, IS_LOOSE, IS_WIDE, and from GIVES on how many rows the outputs have to
    give.
    """
    if reason != FINISHED:
        return reason
    rows = 0
    wide = 0
    for i in range(H[W + NODE_COUNT]):
        nd = H[H[W + NODES] + i]
        if H[nd + KIND] == OUTPUT:
            n = count_rows(H, nd)
            if n == 0:  # all cancelled
                forget_rows(H, W, nd)
            rows += n
            if H[nd + SHOWS_WIDE]:
                H[nd + SHOWS_WIDE] = 0
                wide = IS_WIDE
    return (rows << GIVES) + (IS_LOOSE if H[W + LOOSE] else 0) + wide


@inline
def begin_step(H, W, program, step):
    """A slice of one time begins, in which rows are in order."""
    tidy(H, W, step - 1, H[W + EFFORT])
    H[W + STEP] = step
    H[W + ERROR] = 0
    H[W + PC] = program
    H[W + ROUNDS] = 0
    H[W + PHASE] = 0
    H[W + FUEL] = FULL
    H[W + IN_ORDER] = 1


@kernel
def few_step(W, nd, program, step, words):
    """A slice of one time, at one input, from a few rows to the end of the walk.  Returns the outcome.

    needs:  one coordinate, one worker; words: `lanes, time, diff` one after the other.
    """
    H = all_memory()
    begin_step(H, W, program, step)
    lanes = H[nd + LANES]
    for at in range(0, len(words), lanes + 2):
        e = emit(H, W, nd, 0, 1, words[at + lanes + 1])
        for k in range(lanes):
            H[e + k] = words[at + k]
    flush(H, W, nd)
    return outcome(H, W, walk(H, W))


@kernel
def quick_step(W, nd, program, step, rows, words):
    """A slice of one time, at one input, from its rows to the end of the walk.  Returns the outcome.

    needs:  one coordinate, one worker; words: the diffs, or the one that all rows have.
    """
    H = all_memory()
    begin_step(H, W, program, step)
    n = rows.shape[1]
    dstep = 1 if len(words) == n else 0
    # the rank of every row is 1, and so is the word for their being in order
    at = np.int64(words.ctypes.data) // 8 - 1
    if pour_columns(H, W, nd, np.int64(rows.ctypes.data) // 8 - 1, n, W + IN_ORDER, 0, at, dstep, n):
        H[W + DELIVERS_BULK] = 1 if n >= H[W + SEAL] else 0
        for i in range(n):
            e = emit(H, W, nd, 0, 1, words[i * dstep])
            for k in range(rows.shape[0]):
                H[e + k] = rows[k, i]
            if i % 4096 == 4095:
                flush_edges(H, W, nd, SINGLE)
                if H[W + ERROR]:
                    break
        flush_edges(H, W, nd, SINGLE)
        H[W + DELIVERS_BULK] = 0
    return outcome(H, W, walk(H, W))


@kernel
def waiting_rows(W, nd):
    """How many rows an output has to give; where all cancelled, they are forgotten.

    leaves: in WIDE_SHOWN, whether one of them comes very often.
    """
    H = all_memory()
    n = count_rows(H, nd)
    if H[nd + SHOWS_WIDE]:
        H[nd + SHOWS_WIDE] = 0
        H[W + WIDE_SHOWN] = 1
    if n == 0:
        forget_rows(H, W, nd)
    return n


@kernel
def give_rows(W, nd, out, first, words):
    """Copy an output's rows to the columns of out from the first on, with the times of their ranks; forget them.
    Returns where they end.
    """
    H = all_memory()
    end = take_rows(H, nd, out, first, words)
    forget_rows(H, W, nd)
    return end


@kernel
def waiting_everywhere(headers, nodes, count):
    """How many rows an output has to give at all workers, whose headers and nodes of it are listed at these addresses.

    Where all of a worker's cancelled, they are forgotten.
    """
    H = all_memory()
    total = 0
    for i in range(count):
        total += waiting_rows(H[headers + i], H[nodes + i])
    return total


@kernel
def give_everywhere(headers, nodes, count, out, words):
    """Copy the rows of an output at all workers to the columns of out, one worker after the other; forget them."""
    H = all_memory()
    first = 0
    for i in range(count):
        first = give_rows(H[headers + i], H[nodes + i], out, first, words)


@kernel
def due_owed(H, W, nd):
    """What the node owes at times that have become complete turns into seeds: entries that change nothing."""
    v = nd + OWES
    n = H[v + LEN]
    if n == 0:
        return
    side = reserve(H, W, nd + SIDE_ROWS, n)
    copy_words(H, H[v + PTR], side, n)
    H[v + LEN] = 0
    tb = H[nd + TB]
    w = H[tb + WIDTH]
    zeros = reserve(H, W, W + ROW, w)
    for k in range(w):
        H[zeros + k] = 0
    for at in range(0, n, 3):
        rc = H[side + at]
        if is_complete(H, W, H[side + at + 2]):
            sg = segment_of(H, tb, rc, 0)
            touch_input(H, W, tb, rc, sg, w)
            push_entry(H, W, sg, w, H[side + at + 1], H[side + at + 2], 0, zeros)
            queue(H, W, nd, rc, H[side + at + 1])
        else:
            p = reserve(H, W, v, H[v + LEN] + 3) + H[v + LEN]
            H[p] = rc
            H[p + 1] = H[side + at + 1]
            H[p + 2] = H[side + at + 2]
            H[v + LEN] += 3


@kernel
def begin_slice(H, W, nodes, count):
    """What was held for, or owed at, times that are complete now comes back into play."""
    for i in range(count):
        nd = H[nodes + i]
        release_held(H, W, nd)
        if H[nd + KIND] == REDUCE:
            due_owed(H, W, nd)


@kernel
def cut_table(H, W, tb):
    """Take back what slices since FIRST added to a table's segments; saved ones are restored afterwards."""
    nk = H[tb + KEYS]
    slots = H[tb + SLOTS_AT]
    for i in range(H[tb + MASK] + 1):
        rc = H[slots + i] & ADDRESS
        if rc:
            for f in range(H[tb + FAMILIES]):
                sg = rc + nk + SEGMENTS + f * SEGMENT
                if H[sg + STAMP] >= H[W + FIRST]:
                    H[sg + LEN] = H[sg + OLD]
            H[rc + nk + DONE] = 0
    cut_spine(H, W, tb)


@kernel
def undo(H, W, nodes, count):
    """Leave everything as the advance found it: nothing pending, no entry of its slices."""
    for i in range(count):
        nd = H[nodes + i]
        kind = H[nd + KIND]
        if kind == OUTPUT:
            forget_rows(H, W, nd)
        else:
            clear_pending(H, W, nd)
        if kind == ARRANGE or kind == REDUCE:
            cut_table(H, W, H[nd + TB])
            if H[nd + TALLY_AT]:
                undo_tally(H, W, H[nd + TALLY_AT])
    u = H[W + UNDO + PTR]
    at = 0
    while at < H[W + UNDO + LEN]:
        sg = H[u + at]
        n = H[u + at + 1]
        if H[sg + CAP]:
            release(H, W, H[sg + PTR], H[sg + CAP])
        H[sg + PTR] = 0
        H[sg + CAP] = 0
        if n:
            p = alloc(H, W, n)
            copy_words(H, u + at + 3, p, n)
            H[sg + PTR] = p
            H[sg + CAP] = n
        H[sg + LEN] = H[u + at + 2]
        H[sg + OLD] = H[u + at + 2]
        at += 3 + n
    H[W + UNDO + LEN] = 0
    clear_outboxes(H, W)
    H[W + ERROR] = 0
