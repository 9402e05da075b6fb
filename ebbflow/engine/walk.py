"""Walk: the compiled driver, which visits nodes round by round until nothing is pending.

The plan is a short program: visit a node, begin a loop, end it, wait at a barrier, stop. Rounds are packed into one
word whose integer order is the order of the walk. Where a user's function, another worker or Python is needed, the walk
saves its position and returns a reason; it is then called again.

Rule: a node is visited at some rounds only when nothing earlier is pending in its loop.
"""

from __future__ import annotations

import numpy as np

from ebbflow.columns.schema import NULL
from ebbflow.expressions.interpreter import interpret
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Struct, Words
from ebbflow.operators.arrange import visit_rows
from ebbflow.operators.consolidate import count_rows, forget_rows, take_rows
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
    DELAY,
    NOTHING,
    OUTPUT,
    OUTSIDE,
    PASS,
    REDUCE,
    SETTLE,
    WAIT,
    Bucket,
    Node,
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
from ebbflow.operators.reduce.user_functions import hear, request_visit
from ebbflow.operators.reduce.visit import visit_reduce
from ebbflow.operators.reduce.window_changes import undo_indexes
from ebbflow.trace.clock import intern_time, is_complete, row_of
from ebbflow.trace.entry_index import has_index
from ebbflow.trace.heap import (
    BACKWARDS,
    OVERFLOW,
    ROUNDS_OVERFLOW,
    USED_UP,
    Segment,
    Worker,
    alloc,
    copy_words,
    fail,
    hash_lanes,
    is_used_up,
    push_word,
    release,
    reserve,
)
from ebbflow.trace.segment import push_entry, shrink, sort_rows, touch
from ebbflow.trace.spine import cut_spine, tend
from ebbflow.trace.table import (
    ADDRESS,
    Marks,
    Record,
    Table,
    forget_key,
    resize,
    segment_of,
)
from ebbflow.trace.tally import undo_tally


class Instruction(Struct):
    """An instruction of the program."""

    op: int
    target: int  # the node; of a loop, where it ends; of its end, where it begins
    outside: int  # of a loop: the mask of the rounds outside, and of those inside
    inside: int


# ---- the program: four words an instruction -----------------------------------------------------
NODE_AT, LOOP, END, STOP, SYNC = 0, 1, 2, 3, 4
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


@inline
def pending_at(node: Node) -> int:
    """The least rounds with something to do at a node, NOTHING when there is nothing."""
    kind = node.kind
    if kind == PASS or kind == OUTSIDE or kind == DELAY or kind == WAIT:
        return node.least if node.buffer.length else NOTHING
    n = node.buckets.length
    return node.buckets.pointer[n - Bucket.SIZE] if n else NOTHING


@kernel
def least_in(worker: Worker, pc: Instruction) -> int:
    """The least pending rounds among the nodes of the loop that begins at pc.

    leaves: the same in BEST; in EARLY, those among the nodes before the last barrier in the loop.
    """
    past = pc.target
    best = NOTHING
    early = NOTHING
    x = pc[1]
    while x < past:
        if x.op == NODE_AT:
            r = pending_at(Node(x.target))
            if r < best:
                best = r
        elif x.op == SYNC and early >= 0:
            early = best
        elif x.op == LOOP:
            early = -1  # which workers reach a barrier of an inner loop is not known before
        x = x[1]
    worker.best = best
    worker.early = early
    return best


@kernel
def count_outboxes(worker: Worker, pc: Instruction) -> None:
    """Rows that were sent to other workers count as pending here, until these have them.

    leaves: BEST and EARLY as `least_in` found them for the loop that begins at pc, or less if outboxes have less.
    """
    last = 0  # the loop's last barrier
    start = 0  # where the program begins
    for at in range(pc[1], pc.target, Instruction.SIZE):
        x = Instruction(at)
        if x.op == SYNC:
            last = x
        elif x.op == NODE_AT:
            start = x[-Node(x.target).position]
    first = (pc - start) // Instruction.SIZE
    past = (pc.target - start) // Instruction.SIZE
    for i in range(worker.workers):
        outbox = outbox_for(worker, i)
        if outbox.length:
            worker.best = min(worker.best, least_in_outbox(worker, outbox, first, past))
            if last and worker.early >= 0:
                early = least_in_outbox(worker, outbox, first, (last - start) // Instruction.SIZE)
                worker.early = min(worker.early, early)


@kernel
def reach_barrier(worker: Worker, loop: Instruction) -> bool:
    """Wait for the other workers of this process at a barrier.  Returns False while one is missing, and is then to be
    called again, or when all are to stop.

    leaves: all outboxes delivered; at a loop (its instruction; 0: none), in AGREED the least rounds pending anywhere.
    """
    if is_stopped(worker):
        return False
    if worker.stage == 0:
        if loop:
            least_in(worker, loop)
            count_outboxes(worker, loop)
            publish_least(worker)
        arrive(worker)
        worker.stage = 1
    if not wait_for_all(worker):
        return False
    receive_all(worker)
    if loop:
        agree_on(worker)
    begin_outboxes(worker, worker.barrier_count + 1)
    worker.stage = 0
    return True


@kernel
def visit_keys(worker: Worker, node: Node, bucket: Bucket, rounds: int) -> None:
    """Every key that waits in a bucket of a reduce.

    needs:  the bucket has been taken out of the node's list.
    """
    table = node.table
    nk = table.keys
    serial = bucket.serial
    p = bucket.items.pointer
    n = bucket.items.length
    cap = bucket.items.capacity
    asks = node.op == USER_FUNCTION
    for i in range(n):
        if i % AHEAD == 0:
            prefetch_visits(worker, node, table, 1, p + i, 1, min(AHEAD, n - i))
        record = Record(p[i])
        if Marks(record + nk).done == serial:
            continue
        if worker.error:
            break  # the key it was remains the last one looked at
        Marks(record + nk).done = serial
        worker.visits += 1
        worker.fuel -= 8
        worker.key_at = record
        if asks:
            request_visit(worker, node, table, record, rounds)
        else:
            visit_reduce(worker, node, table, record, rounds)
            if is_heavy(worker, node):
                flush(worker, node)
            lighten_joins(worker, node, 1)
    if cap:
        release(worker, p, cap)


@kernel
def delay_rows(worker: Worker, node: Node) -> None:
    """Move the times of the node's rows later, by its expression over the coordinates."""
    c = worker.coords
    w = node.lanes + 3
    for at in range(0, node.buffer.length, w):
        e = node.buffer.pointer + at
        to = worker.row.pointer
        source = row_of(worker, e[1])
        if interpret(node.spec, source, to) < 0:
            fail(worker, OVERFLOW, node.number, e[1], source[0])
            return
        for k in range(c):
            if to[k] == NULL or to[k] < source[k]:
                fail(worker, BACKWARDS, node.number, e[1], to[k])
                return
        e[1] = intern_time(worker, to)


@kernel
def raise_rounds(worker: Worker, node: Node) -> None:
    """Move the node's rows to the round that one of their lanes names; where the loop ends before it, they end here.

    needs:  rows at round 0 of the node's loop.
    """
    width = node.lanes + 3
    most = node.most_rounds
    p = node.buffer.pointer
    kept = 0
    for at in range(0, node.buffer.length, width):
        e = p + at
        k = max(e[3 + node.wait_lane], 0)
        if k >> worker.bits:
            if most < 0 or k < most:
                fail(worker, ROUNDS_OVERFLOW, node.number, e[1], k)
                return
        elif most < 0 or k < most:
            e[0] += k << node.rounds_field
            copy_words(e, p + kept, width)
            kept += width
    node.buffer.length = kept


@kernel
def walk(worker: Worker) -> int:
    """Go on from where the walk stands until it is finished, or something outside is needed.  Returns the reason."""
    pc = Instruction(worker.pc)
    cur = worker.rounds
    phase = worker.phase
    many = worker.workers > 1
    while True:
        worker.pc = pc
        worker.rounds = cur
        worker.phase = 0
        if is_used_up(worker):  # blocks that lie free are given without a look at the limit
            fail(worker, USED_UP, pc, 0, worker.limit - worker)
        if worker.error:
            return FAILED
        if worker.fuel < 0:
            worker.phase = phase
            return PAUSED
        op = pc.op
        if op == NODE_AT:
            node = Node(pc.target)
            kind = node.kind
            if phase == 1:  # the user's answers are there
                hear(worker, node, node.table, cur)
                flush(worker, node)
                flush_joins(worker, node)
                phase = 0
            elif kind == ARRANGE or kind == SETTLE or kind == REDUCE:
                n = node.buckets.length - Bucket.SIZE
                bucket = Bucket(node.buckets.pointer + n)
                if n >= 0 and bucket.rounds == cur:
                    if node.tally:
                        run_pending(worker, node)
                        while worker.error == 0 and close_moment(worker, node, node.tally):
                            flush(worker, node)
                        n = node.buckets.length - Bucket.SIZE
                        bucket = Bucket(node.buckets.pointer + n)
                    elif kind == REDUCE and (bucket.bulk.length or bucket.items.partitions):
                        admit_bulk(worker, node, cur)
                        n = node.buckets.length - Bucket.SIZE
                        bucket = Bucket(node.buckets.pointer + n)
                    node.buckets.length = n
                    if kind == REDUCE:
                        visit_keys(worker, node, bucket, cur)
                        if node.call_args.length:
                            worker.phase = 1
                            worker.loop_at = node
                            return ASKS
                    else:
                        visit_rows(worker, node, bucket, cur)
                    flush(worker, node)
                    flush_joins(worker, node)
            elif node.buffer.length:
                if kind == OUTSIDE:
                    worker.pc = pc[1]
                    worker.loop_at = node
                    return CALLS
                if kind == DELAY:
                    delay_rows(worker, node)
                elif kind == WAIT:
                    raise_rounds(worker, node)
                if kind != OUTPUT:
                    flush(worker, node)
            pc = pc[1]
        elif op == LOOP:
            if many and phase == 0:
                worker.loop_at = pc
                worker.quiet = 0
                if worker.barrier == 0:
                    return AT_BARRIER
                if not reach_barrier(worker, pc):
                    return WAITS
            best = worker.agreed if many else least_in(worker, pc)
            phase = 0
            cur &= pc.outside
            worker.fuel -= 32
            if best != NOTHING and (best & pc.outside) == cur:
                cur = best & pc.inside
                pc = pc[1]
            else:
                worker.quiet = 0
                pc = Instruction(pc.target)
        elif op == END:
            pc = Instruction(pc.target)
        elif op == SYNC:
            if phase == 0 and worker.quiet == 0:
                worker.loop_at = 0
                if worker.barrier == 0:
                    return AT_BARRIER
                if not reach_barrier(worker, Instruction(0)):
                    return WAITS
            phase = 0
            pc = pc[1]
        else:
            return FINISHED


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
def feed_columns(
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
def is_dead(worker: Worker, table: Table, record: Record) -> bool:
    """Whether nothing is left of a key, once its entries are folded."""
    nk = table.keys
    if has_index(worker, table, record):
        return False
    for f in range(table.families):
        segment = Marks(record + nk).segments[f]
        stamp = segment.stamp
        if f == 0:
            touch_input(worker, table, record, segment, table.widths[0])
        elif f == 1:
            touch(worker, segment, table.widths[1])
        segment.stamp = stamp  # to be looked at is not to be used
    for f in range(table.families):
        if Marks(record + nk).segments[f].length:
            return False
    return True


@kernel
def last_touch(table: Table, record: Record) -> int:
    """The last slice that used a key."""
    last = 0
    for f in range(min(2, table.families)):
        last = max(last, Marks(record + table.keys).segments[f].stamp)
    return last


@kernel
def seal_records(worker: Worker, table: Table, p: Words, n: int) -> None:
    """Seal n records that are no longer in the table, `record, 0, hash` each at p."""
    sort_rows(worker, p, n, 3)
    worker.stream.length = 0
    for i in range(n):
        stream_record(worker, table, Record(p[3 * i]))
    seal_stream(worker, table)


@kernel
def shrink_slots(worker: Worker, table: Table) -> None:
    """A table with far more slots than records gets fewer."""
    n = table.count
    if table.mask > 1024 and n * 16 < table.mask:
        size = 16
        while size < 4 * n:
            size *= 2
        resize(worker, table, size)


@kernel
def shrink_table(worker: Worker, table: Table, forgets: int) -> None:
    """Give back what the keys of a table do not need: room of their segments, and keys that have no entry.

    needs:  between two advances, with nothing pending at the table's node; nothing owed there, if it forgets keys.
    leaves: every entry as it is: nothing is folded.
    """
    nk = table.keys
    i = 0
    while i <= table.mask:
        record = Record(table.slots[i] & ADDRESS)
        entries = 0
        if record:
            for f in range(table.families):
                segment = Marks(record + nk).segments[f]
                shrink(worker, segment, table.widths[f])
                entries += segment.length
            if has_index(worker, table, record):
                entries += 1
        if record and entries == 0 and forgets:
            forget_key(table, record, hash_lanes(record.lanes, nk))
            release(worker, record.lanes, table.record)
        else:
            i += 1
    table.hand = -1
    shrink_slots(worker, table)


@kernel
def sweep(worker: Worker, table: Table, fuel: int) -> None:
    """Look at some slots of a table: forget keys of which nothing is left, and seal cold ones when there are too many.

    needs:  between two advances, with nothing pending or owed at the table's node.
    """
    cold = worker.moments
    cold.length = 0
    slots = table.slots
    most = worker.keep - (worker.keep >> 3)
    evicts = worker.general == 0 and table.families > 0
    i = table.hand
    while fuel > 0 and i <= table.mask:
        if i % AHEAD == 0:
            prefetch_slots(worker, table, i, AHEAD)
        fuel -= 1
        record = Record(slots[i] & ADDRESS)
        if record == 0:
            i += 1
            continue
        last = last_touch(table, record)
        if is_dead(worker, table, record):
            forget_key(table, record, hash_lanes(record.lanes, table.keys))
            release(worker, record.lanes, table.record)
        elif has_index(worker, table, record):
            i += 1  # what is in an index stays where it is
        elif evicts and last <= table.mark and table.count > most:
            h = hash_lanes(record.lanes, table.keys)
            forget_key(table, record, h)
            push_word(worker, cold, record)
            push_word(worker, cold, 0)
            push_word(worker, cold, h)
        else:
            i += 1
    table.hand = i
    if cold.length:
        seal_records(worker, table, cold.pointer, cold.length // 3)
    if i > table.mask:
        table.hand = -1
        n = table.count
        table.sweep_at = 2 * n + 1024
        table.evict_at = n + (n >> 3)
        shrink_slots(worker, table)


@kernel
def tidy_table(worker: Worker, table: Table, fuel: int) -> None:
    """Go on with the sweep of a table, or begin one where it is worth it, and with the merges behind it."""
    n = table.count
    grown = max(0, n - table.last_count)
    table.last_count = n
    if table.hand < 0:
        many = n > worker.keep and n > table.evict_at and worker.general == 0
        if many or n > table.sweep_at:
            table.hand = 0
            # a little too many: only what was not used for long leaves; far too many: whatever is not used meanwhile
            table.mark = worker.step if n > 2 * worker.keep else worker.step - LONG
    if table.hand >= 0:
        table.sweep_fuel += (fuel >> 2) + 1 + min(8 * grown, MOST_OWED)
        if table.sweep_fuel >= 4 * worker.effort:
            spent = min(table.sweep_fuel, MOST_SWEPT)
            sweep(worker, table, spent)
            table.sweep_fuel = table.sweep_fuel - spent if table.hand >= 0 else 0
    tend(worker, table, fuel)


@kernel
def tidy(worker: Worker, step: int, fuel: int) -> None:
    """Between two advances, as a slice of its own: a bounded part of what keeps the state small.

    leaves: nothing to undo: records that the last advance saved may be gone.
    """
    worker.step = step
    worker.first = step + 1
    worker.saves_segments = 0
    worker.undo.length = 0
    worker.index_undo.length = 0
    for i in range(worker.node_count):
        node = Node(worker.nodes[i])
        if node.table and node.owes.length == 0:
            tidy_table(worker, node.table, fuel)


@kernel
def outcome(worker: Worker, reason: int) -> int:
    """How a step ended, in one word: the reason, IS_LOOSE, IS_WIDE, and from GIVES on how many rows the outputs have to
    give.
    """
    if reason != FINISHED:
        return reason
    rows = 0
    wide = 0
    for i in range(worker.node_count):
        node = Node(worker.nodes[i])
        if node.kind == OUTPUT:
            n = count_rows(node)
            if n == 0:  # all cancelled
                forget_rows(worker, node)
            rows += n
            if node.shows_wide:
                node.shows_wide = 0
                wide = IS_WIDE
    return (rows << GIVES) + (IS_LOOSE if worker.loose else 0) + wide


@inline
def begin_step(worker: Worker, program: int, step: int) -> None:
    """A slice of one time begins, in which rows are in order."""
    tidy(worker, step - 1, worker.effort)
    worker.step = step
    worker.error = 0
    worker.pc = program
    worker.rounds = 0
    worker.phase = 0
    worker.fuel = FULL
    worker.in_order = 1


@kernel
def few_step(worker: Worker, node: Node, program: int, step: int, words: np.ndarray) -> int:
    """A slice of one time, at one input, from a few rows to the end of the walk.  Returns the outcome.

    needs:  one coordinate, one worker; words: `lanes, time, diff` one after the other.
    """
    begin_step(worker, program, step)
    lanes = node.lanes
    for at in range(0, len(words), lanes + 2):
        e = emit(worker, node, 0, 1, words[at + lanes + 1])
        for k in range(lanes):
            e[k] = words[at + k]
    flush(worker, node)
    return outcome(worker, walk(worker))


@kernel
def quick_step(worker: Worker, node: Node, program: int, step: int, rows: np.ndarray, words: np.ndarray) -> int:
    """A slice of one time, at one input, from its rows to the end of the walk.  Returns the outcome.

    needs:  one coordinate, one worker; words: the diffs, or the one that all rows have.
    """
    begin_step(worker, program, step)
    n = rows.shape[1]
    dstep = 1 if len(words) == n else 0
    # the rank of every row is 1, and so is the word for their being in order
    at = Words(np.int64(words.ctypes.data) // 8 - 1)
    if pour_columns(worker, node, Words(np.int64(rows.ctypes.data) // 8 - 1), n, worker.in_order_word, 0, at, dstep, n):
        worker.delivers_bulk = 1 if n >= worker.seal else 0
        for i in range(n):
            e = emit(worker, node, 0, 1, words[i * dstep])
            for k in range(rows.shape[0]):
                e[k] = rows[k, i]
            if i % 4096 == 4095:
                flush_edges(worker, node, SINGLE)
                if worker.error:
                    break
        flush_edges(worker, node, SINGLE)
        worker.delivers_bulk = 0
    return outcome(worker, walk(worker))


@kernel
def waiting_rows(worker: Worker, node: Node) -> int:
    """How many rows an output has to give; where all cancelled, they are forgotten.

    leaves: in WIDE_SHOWN, whether one of them comes very often.
    """
    n = count_rows(node)
    if node.shows_wide:
        node.shows_wide = 0
        worker.pair.wide_shown = 1
    if n == 0:
        forget_rows(worker, node)
    return n


@kernel
def give_rows(worker: Worker, node: Node, out: np.ndarray, first: int, words: np.ndarray) -> int:
    """Copy an output's rows to the columns of out from the first on, with the times of their ranks; forget them.
    Returns where they end.
    """
    end = take_rows(node, out, first, words)
    forget_rows(worker, node)
    return end


@kernel
def waiting_everywhere(headers: Words, nodes: Words, count: int) -> int:
    """How many rows an output has to give at all workers, whose headers and nodes of it are listed at these addresses.

    Where all of a worker's cancelled, they are forgotten.
    """
    total = 0
    for i in range(count):
        total += waiting_rows(Worker(headers[i]), Node(nodes[i]))
    return total


@kernel
def give_everywhere(headers: Words, nodes: Words, count: int, out: np.ndarray, words: np.ndarray) -> None:
    """Copy the rows of an output at all workers to the columns of out, one worker after the other; forget them."""
    first = 0
    for i in range(count):
        first = give_rows(Worker(headers[i]), Node(nodes[i]), out, first, words)


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


@kernel
def cut_table(worker: Worker, table: Table) -> None:
    """Take back what slices since FIRST added to a table's segments; saved ones are restored afterwards."""
    nk = table.keys
    slots = table.slots
    for i in range(table.mask + 1):
        record = Record(slots[i] & ADDRESS)
        if record:
            for f in range(table.families):
                segment = Marks(record + nk).segments[f]
                if segment.stamp >= worker.first:
                    segment.length = segment.old
            Marks(record + nk).done = 0
    cut_spine(worker, table)


@kernel
def undo(worker: Worker, nodes: Words, count: int) -> None:
    """Leave everything as the advance found it: nothing pending, no entry of its slices."""
    for i in range(count):
        node = Node(nodes[i])
        kind = node.kind
        if kind == OUTPUT:
            forget_rows(worker, node)
        else:
            clear_pending(worker, node)
        if kind == ARRANGE or kind == REDUCE:
            cut_table(worker, node.table)
            if node.tally:
                undo_tally(worker, node.tally)
    u = worker.undo.pointer
    at = 0
    while at < worker.undo.length:
        segment = Segment(u[at])
        n = u[at + 1]
        if segment.capacity:
            release(worker, segment.pointer, segment.capacity)
        segment.pointer = Words(0)
        segment.capacity = 0
        if n:
            p = alloc(worker, n)
            copy_words(u + at + 3, p, n)
            segment.pointer = p
            segment.capacity = n
        segment.length = u[at + 2]
        segment.old = u[at + 2]
        at += 3 + n
    worker.undo.length = 0
    undo_indexes(worker)
    clear_outboxes(worker)
    worker.error = 0
