"""Walk: the compiled driver, which visits nodes round by round until nothing is pending.

The plan is a short program: visit a node, begin a loop, end it, wait at a barrier, stop. Rounds are packed into one
word whose integer order is the order of the walk. Where a user's function, another worker or Python is needed, the walk
saves its position and returns a reason; it is then called again.

Rule: a node is visited at some rounds only when nothing earlier is pending in its loop.
"""

from __future__ import annotations

from ebbflow.columns.schema import NULL
from ebbflow.expressions.interpreter import interpret
from ebbflow.native.kernel import inline, kernel
from ebbflow.native.structs import Struct
from ebbflow.operators.arrange import visit_rows
from ebbflow.operators.exchange.barrier import (
    agree_on,
    arrive,
    begin_outboxes,
    is_stopped,
    publish_least,
    receive_all,
    wait_for_all,
)
from ebbflow.operators.exchange.outbox import least_in_outbox, outbox_for
from ebbflow.operators.flush import flush, flush_joins, is_heavy, lighten_joins
from ebbflow.operators.node import ARRANGE, DELAY, NOTHING, OUTSIDE, PASS, REDUCE, SETTLE, WAIT, Bucket, Node
from ebbflow.operators.prefetch import KEYS_AHEAD, prefetch_visits
from ebbflow.operators.reduce.answers import USER_FUNCTION
from ebbflow.operators.reduce.bulk_reduce import admit_bulk
from ebbflow.operators.reduce.totals.close import close_moment
from ebbflow.operators.reduce.totals.fold import run_pending
from ebbflow.operators.reduce.user_functions import hear, request_visit
from ebbflow.operators.reduce.visit import visit_reduce
from ebbflow.trace.clock import intern_time, row_of
from ebbflow.trace.failures import BACKWARDS, OVERFLOW, ROUNDS_OVERFLOW, USED_UP, fail
from ebbflow.trace.heap import copy_words, is_used_up, release
from ebbflow.trace.table import Marks, Record
from ebbflow.trace.worker_fields import Worker


class Instruction(Struct):
    """An instruction of the program."""

    op: int
    target: int  # the node; of a loop, where it ends; of its end, where it begins
    outside: int  # of a loop: the mask of the rounds outside, and of those inside
    inside: int


# ---- the program: four words an instruction -----------------------------------------------------
NODE_AT, LOOP, LOOP_END, STOP, SYNC = 0, 1, 2, 3, 4
# ---- why the walk came back ---------------------------------------------------------------------
FINISHED, ASKS, CALLS, AT_BARRIER, PAUSED, FAILED = 0, 1, 2, 3, 4, 5
WAITS = 6  # for workers in other threads, longer than it may without returning

FULL = 1 << 22  # visits and pairs until the walk returns, so that it can be interrupted


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
        if i % KEYS_AHEAD == 0:
            prefetch_visits(worker, node, table, 1, p + i, 1, min(KEYS_AHEAD, n - i))
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
def walk(worker: Worker) -> int:  # long: one case for each instruction, and for each kind of node
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
                    node.visits += 1
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
                node.visits += 1
                if kind == OUTSIDE:
                    worker.pc = pc[1]
                    worker.loop_at = node
                    return CALLS
                if kind == DELAY:
                    delay_rows(worker, node)
                elif kind == WAIT:
                    raise_rounds(worker, node)
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
        elif op == LOOP_END:
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
