"""Worker: one shard of every arrangement in a heap of its own, and the walk over them.

The plan is written into the heap once, as words. After that a worker is fed rows, walks, and hands out the rows of its
outputs; where a user's function is needed it calls it.

Rule: a worker deals with cells and rows; which times are complete, and what other workers do, is given to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from ebbflow import events, interrupts
from ebbflow.dataflow.plan import Plan
from ebbflow.engine import feed, quick_step, take, tidy, undo
from ebbflow.engine import walk as w
from ebbflow.engine.callbacks import Callbacks
from ebbflow.engine.compact_times import compact_times
from ebbflow.engine.node_work import NodeWork, work_of
from ebbflow.engine.plan_layout import PlanLayout
from ebbflow.engine.result_buffer import ResultBuffer
from ebbflow.expressions.opcodes import REGISTERS
from ebbflow.limits import rounds
from ebbflow.native.kernel import address_of
from ebbflow.native.structs import Words
from ebbflow.operators import block, consolidate
from ebbflow.operators import node as kinds
from ebbflow.operators.exchange import barrier
from ebbflow.operators.exchange.receive import receive_at
from ebbflow.times.lattice import told_once
from ebbflow.trace import heap as h
from ebbflow.trace import worker_fields
from ebbflow.trace.clock import intern_rows, mark_complete, respread
from ebbflow.trace.reserved_heap import Heap
from ebbflow.trace.worker_fields import Vector

TRIM_SECONDS = 0.25  # what a load leaves goes at its end; what each small step needs again stays
NO_TIMES = np.empty(0, np.int64)
FORGET_TIMES = 4096  # interned times beyond those in use, before they are looked through
LIMIT_FIELDS = {"seal_rows": "seal", "keep_records": "keep", "effort": "effort", "near_slots": "cached_slots"}
LIMIT_FIELDS |= {"index_rows": "index_rows", "index_entries": "index_entries"}


class Worker:
    def __init__(
        self,
        plan: Plan,
        me: int,
        workers: int,
        pool,
        reserve: int | None = None,
        base: int | None = None,
        forget_times: int = FORGET_TIMES,
        **limits: int,
    ):
        self.plan, self.me, self.pool = plan, me, pool
        self.heap = heap = Heap(reserve, None if base is None else base + me * (reserve or 0))
        self.H, self.W, self.header = heap.H, heap.W, heap.header
        self.callbacks = Callbacks(plan, pool)
        bits = rounds(plan.depth).bit_length()
        self.shift = [(plan.depth - 1 - d) * (bits + 1) for d in range(plan.depth)]
        self.header.guard = sum(1 << (s + bits) for s in self.shift)
        self.header.bits = bits
        self.header.coords = len(plan.graph.coordinates)
        self.header.general = int(plan.general)
        self.header.workers, self.header.me = workers, me
        self.header.pool = pool.address
        for name, value in limits.items():
            setattr(self.header, LIMIT_FIELDS[name], value)
        if plan.general:
            respread(self.header, 64)
        layout = PlanLayout(plan, heap, pool, self.shift)
        self.at, self.nodes, self.widest = layout.at, layout.nodes, layout.widest
        self.program, self.around = layout.program, layout.around
        self.stages, self.pool_words = layout.stages, layout.pool_words
        self.saved: list[tuple[Vector, np.ndarray]] | None = None  # what an advance found waiting
        self.step = 0
        self.kept = 0  # up to which step nothing is taken back
        self.trim_at = 0.0  # when memory may next be returned to the system
        self.forget_times = self.forget_at = forget_times
        self.slice_times = np.empty(0, np.int64)  # with one coordinate: those of the slice, in order
        self.moment = np.zeros(1, np.int64)  # the same where a slice has one
        self.walk: Callable[[worker_fields.Worker], int] = w.walk  # who looks at each node takes it in steps
        self.stopped = False  # set by whoever waits for this worker's thread, when a person has had enough
        self.inputs = {name: self.at[cell.number] for name, cell in plan.inputs.items()}
        self.outputs = {name: (self.at[cell.number], cell.schema.width) for name, cell in plan.outputs.items()}

    # ---- an advance -------------------------------------------------------------------------

    def keep_last(self) -> None:
        """The last advance counts: nothing is left to undo until the next one has begun, which has a later step."""
        self.kept, self.saved = self.step, None

    def begin_advance(self, keeping: bool, lower=()) -> None:
        """From here on everything can be undone."""
        if self.plan.general:
            self.header.past = 0  # the last advance may have been taken back
            self.set_lower(lower)
            self.forget_past(lower)
        self.tidy()
        self.header.first = self.step + 1
        self.header.saves_segments = int(keeping)
        if self.plan.general:
            self.saved = [(v, self.heap.vector(v).copy()) for a in self.at for v in (a.hold, a.owes) if v.length]

    def set_lower(self, lower) -> None:
        """The frontier to which histories fold from now on."""
        c = len(self.plan.graph.coordinates)
        self.heap.load(self.header.lower, np.array(lower, np.int64).reshape(-1))
        h.reserve(self.header, self.header.lower, len(lower) * c + 2 * c)
        self.set_lowest(lower)

    def forget_past(self, lower) -> None:
        """When most interned times are past the lower frontier, they are forgotten."""
        if int(self.header.times.length) // len(self.plan.graph.coordinates) > self.forget_at:
            self.forget_at = 2 * int(compact_times(self.header, Words(self.nodes), len(self.at))) + self.forget_times
            self.set_lowest(lower)

    def set_lowest(self, lower) -> None:
        """What is older folds to the only element of the lower frontier, which has a rank before all that comes now."""
        c = len(self.plan.graph.coordinates)
        self.header.lowest = self.ranks(np.array(lower, np.int64))[0] + 1 if len(lower) == 1 else 0
        known = int(self.header.times.length) // c
        self.header.chain_from = known - int(self.header.lowest == known)
        fresh = self.heap.vector(self.header.times)[int(self.header.past) * c :]
        if len(lower) != 1:
            self.header.past = 0
        elif all((fresh[k::c] <= lower[0][k]).all() for k in range(c)):
            self.header.past = known  # else as many as were past an earlier frontier

    def tidy(self, fuel: int | None = None) -> None:
        """Spend some effort on keeping the state small: keys that are nothing or cold leave, batches merge."""
        self.step += 1
        tidy.tidy(self.header, self.step, int(self.header.effort) if fuel is None else fuel)

    def rest(self) -> None:
        """An advance is done: memory that nothing uses goes back to the system, unless it did so a moment ago.

        What is kept as an image gives it back where that is made, by no clock: the same steps leave the same bytes.
        """
        if self.header.loose and not self.heap.is_placed and time.monotonic() >= self.trim_at:
            self.trim_at = time.monotonic() + TRIM_SECONDS
            self.heap.trim()

    def forget_block(self) -> None:
        """Where the columns of the last block lay is nothing to keep: they were words of this process."""
        columns = block.Block(self.header.block).columns
        for start in (columns, block.Block(self.header.block).next_columns):
            words = self.H[start : start + 2 * max(self.widest, REGISTERS)]
            if words.any():
                words[:] = 0

    def begin_slice(self, upper=()) -> None:
        self.step += 1
        self.header.step = self.step
        self.header.pc, self.header.rounds, self.header.phase = self.program, 0, 0
        self.header.quiet = self.header.stage = 0  # an abandoned walk may have been at, or past, any barrier
        self.header.error = 0
        if self.plan.general:
            self.heap.load(self.header.upper, np.array(upper, np.int64).reshape(-1))
            mark_complete(self.header, int(self.step > self.header.first))
            feed.begin_slice(self.header, Words(self.nodes), len(self.at))

    def ranks(self, times: np.ndarray) -> np.ndarray:
        """The ranks of rows of coordinates, in the general clock."""
        found = np.empty(len(times), np.int64)
        intern_rows(self.header, np.ascontiguousarray(times), found)
        return found

    def feed(self, name: str, lanes: np.ndarray, ranks: np.ndarray, diffs: np.ndarray) -> None:
        cell = self.plan.inputs.get(name)
        if cell is not None and lanes.shape[1]:
            rows, ranks, diffs = map(np.ascontiguousarray, (lanes, told_once(ranks), told_once(diffs)))
            feed.feed_rows(self.header, self.at[cell.number], rows, ranks, diffs)

    def run(self) -> int:
        """Walk until finished, failed, or the other workers are needed; users' functions are called on the way."""
        return self.go_on(w.PAUSED)

    def run_to_barrier(self) -> int:
        """The same beside others in threads of their own, who are met on the way; if this one will not come, they are
        told.
        """
        reason = w.FAILED
        try:
            reason = self.run()
        finally:
            if reason != w.FINISHED:
                self.H[int(self.header.barrier) + barrier.STOPPED] = 1
        return reason

    def is_given_up(self) -> bool:
        """Whether somebody who is to be met will not come."""
        at = int(self.header.barrier)
        return self.stopped or bool(at and self.H[at + barrier.STOPPED])

    def go_on(self, reason: int) -> int:
        """Do what the walk came back for, and walk on."""
        while (reason := self.serve(reason)) == w.PAUSED:
            if self.stopped or self.is_given_up():
                break
            interrupts.look()
            self.header.fuel = w.FULL
            reason = self.walk(self.header)
        return int(reason)

    def serve(self, reason: int) -> int:
        """Do what the walk came back for; PAUSED when it may go on."""
        if reason == w.ASKS or reason == w.CALLS:
            cell = self.plan.cells[int(kinds.Node(self.header.loop_at).number)]
            with interrupts.allowed():
                if reason == w.ASKS:
                    self.callbacks.answer(self, cell)
                else:
                    self.callbacks.call(self, cell)
            return w.PAUSED
        if reason == w.WAITS and not self.is_given_up():
            time.sleep(0)  # the others may need Python
            return w.PAUSED
        if reason == w.PAUSED and events.is_heard():
            self.tell_round()
        return int(reason)

    def tell_round(self) -> None:
        """Say where the walk is, when it has gone on for a while."""
        at = (int(self.header.pc) - self.program) // w.Instruction.SIZE
        for begin in reversed(self.around[at]):
            field = int(self.header.rounds) >> self.shift[begin.depth - 1]
            events.tell(events.RoundBegan(begin.loop, field & ((1 << int(self.header.bits)) - 1)))

    def outbox_for(self, other: int) -> np.ndarray:
        v = self.header.outboxes[other]
        words = self.heap.vector(v).copy()
        v.length = 0
        return words

    def receive(self, words: np.ndarray) -> None:
        receive_at(self.header, Words(address_of(words)), len(words))

    def quick_step(self, name: str, lanes: np.ndarray, diffs: np.ndarray) -> int:
        """A slice of one time at one input, in one call; diffs: one for each row, or for all.  Returns its outcome."""
        self.step += 2  # one to tidy, one to walk
        told = quick_step.quick_step(self.header, self.inputs[name], self.program, self.step, lanes, diffs)
        return take.outcome(self.header, self.go_on(told)) if told & take.REASON_MASK else told

    def few_step(self, name: str, words: np.ndarray) -> int:
        """The same for a few rows: `lanes, time, diff` one after the other, all at one time."""
        self.step += 2
        told = quick_step.few_step(self.header, self.inputs[name], self.program, self.step, words)
        return take.outcome(self.header, self.go_on(told)) if told & take.REASON_MASK else told

    def take(self, output: str, buffer: ResultBuffer | None = None, count: int | None = None) -> np.ndarray | None:
        """The rows of an output: int64[lanes + 2, rows], time (in the general clock: rank) and diff last; None when
        there are none, or they were gathered.  Count: how many there are, if that is known.
        """
        if buffer is not None:
            self.take_direct(output, buffer)
        a, lanes = self.outputs[output]
        if count is None:
            count = take.waiting_rows(self.header, a)
        if count == 0:
            return None
        out, first = (np.empty((lanes + 2, count), np.int64), 0) if buffer is None else buffer.room(count)
        take.give_rows(self.header, a, out, first, NO_TIMES if self.plan.general else self.slice_times)
        return out if buffer is None else None

    def direct_to(self, output: str, buffer: ResultBuffer) -> None:
        """From here to `take`, rows that come consolidated go where they stay."""
        a, _ = self.outputs[output]
        left = buffer.left()
        if self.plan.general or not a.raw or left.shape[1] == 0:
            return
        a.direct_at, a.direct_step = Words(address_of(left)), left.strides[0] // 8
        a.direct_room, a.direct_rows = left.shape[1], 0
        a.direct_times = Words(address_of(self.slice_times) - 1)

    def take_direct(self, output: str, buffer: ResultBuffer) -> None:
        """The rows that went where they stay are there; no more go there."""
        buffer.room(int(consolidate.stop_direct(self.outputs[output][0])))

    def time_of(self, ranks: np.ndarray) -> np.ndarray:
        """The coordinates of ranks: among the slice's times, or in the general clock."""
        if not self.plan.general:
            return self.slice_times[ranks - 1][:, None]
        c = len(self.plan.graph.coordinates)
        return self.heap.vector(self.header.times).reshape(-1, c)[ranks]

    def undo(self) -> None:
        if self.header.step <= self.kept:  # what was to come has not begun
            self.header.first = self.kept + 1
            self.header.undo.length = 0
        undo.undo(self.header, Words(self.nodes), len(self.at))
        if self.saved is not None:
            for a in self.at:
                a.hold.length = a.owes.length = 0
            for v, words in self.saved:
                self.heap.load(v, words)

    def work_by_node(self) -> dict[int, NodeWork]:
        return work_of(self.plan, self.at)

    def counters(self) -> dict[str, int]:
        header = self.header
        counted = {
            "visits": header.visits,
            "rows": header.inserts,
            "changes": header.deltas,
            "answers": header.evals,
            "owed": header.owed,
            "replayed": header.replayed,
            "words": header.live,
            "sealed": header.sealed,
            "mailed": header.sent,
            "merges": header.merges,
            "merged from": header.merged_from,
            "merged to": header.merged_to,
        }
        return {name: int(count) for name, count in counted.items()}
