"""Worker: one shard of every arrangement in a heap of its own, and the walk over them.

The plan is written into the heap once, as words. After that a worker is fed rows, walks, and hands out the rows of its
outputs; where a user's function is needed it calls it.

Rule: a worker deals with cells and rows; which times are complete, and what other workers do, is given to it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from functools import reduce

import numpy as np

from ebbflow import events, interrupts
from ebbflow.columns.lanes import float_to_lane, to_lane
from ebbflow.columns.schema import DOUBLE, PRECISION, Field, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.aggregates import kind_of, split
from ebbflow.dataflow.lower import Begin, Cell, End, Pipe, Plan, Stage
from ebbflow.dataflow.windows import FUNCTIONS, WHOLE, Reach, reach_of
from ebbflow.engine import walk as w
from ebbflow.engine.callbacks import Callbacks
from ebbflow.engine.compact_times import compact_times
from ebbflow.engine.result_buffer import ResultBuffer
from ebbflow.expressions.interpreter import REGISTERS, STEP, program, runs_in_blocks
from ebbflow.limits import COLUMNS, WORKERS, rounds
from ebbflow.native.kernel import address_of
from ebbflow.native.structs import Words
from ebbflow.operators import block, consolidate, edges
from ebbflow.operators import node as kinds
from ebbflow.operators.exchange import barrier
from ebbflow.operators.reduce import answers, ordered_values, window_order
from ebbflow.operators.reduce.totals import accumulators
from ebbflow.times.lattice import told_once
from ebbflow.trace import heap as h
from ebbflow.trace import table as tables
from ebbflow.trace import tally as tallies
from ebbflow.trace.clock import intern_rows, mark_complete, respread
from ebbflow.trace.table import resize

TRIM_SECONDS = 0.25  # what a load leaves goes at its end; what each small step needs again stays
KEYED = (kinds.ARRANGE, kinds.REDUCE, kinds.SETTLE)  # the order in which rows come is nothing to them
NO_TIMES = np.empty(0, np.int64)
FORGET_TIMES = 4096  # interned times beyond those in use, before they are looked through
WORKERS_AT_MOST = WORKERS
LIMITS = {"seal_rows": "seal", "keep_records": "keep", "effort": "effort", "near_slots": "cached_slots"}
LIMITS["index_rows"] = "index_rows"


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
        self.heap = heap = h.Heap(reserve, None if base is None else base + me * (reserve or 0))
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
        # where it is written that the text pool lies there, in this process
        self.pool_words = [self.W + h.Worker.FIELDS["pool"].offset]
        for name, value in limits.items():
            setattr(self.header, LIMITS[name], value)
        if plan.general:
            respread(self.header, 64)
        self.lay_out()
        self.saved: list[tuple[h.Vector, np.ndarray]] | None = None  # what an advance found waiting
        self.step = 0
        self.kept = 0  # up to which step nothing is taken back
        self.trim_at = 0.0  # when memory may next be returned to the system
        self.forget_times = self.forget_at = forget_times
        self.slice_times = np.empty(0, np.int64)  # with one coordinate: those of the slice, in order
        self.moment = np.zeros(1, np.int64)  # the same where a slice has one
        self.stopped = False  # set by whoever waits for this worker's thread, when a person has had enough
        self.inputs = {name: self.at[cell.number] for name, cell in plan.inputs.items()}
        self.outputs = {name: (self.at[cell.number], cell.schema.width) for name, cell in plan.outputs.items()}

    # ---- the plan, as words -----------------------------------------------------------------

    def lay_out(self) -> None:
        plan, heap, header = self.plan, self.heap, self.header
        self.stages: dict[int, Stage] = {}  # by address, for what is told of a row that overflowed
        self.at = [kinds.Node(heap.zeros(kinds.Node.SIZE)) for _ in plan.cells]
        self.nodes = heap.keep(self.at)
        self.widest = max((max(c.schema.width, c.taken(plan.graph).width) for c in plan.cells), default=0)
        assert self.widest <= COLUMNS, "the rules let no wider collection pass"
        for v in (header.row, header.row2, header.want):  # rows in passing: lanes, or an expression's registers
            h.reserve(header, v, self.widest + REGISTERS)
        header.nodes, header.node_count = Words(self.nodes), len(self.at)
        header.block = h.alloc(header, block.Block.SIZE)
        for cell in plan.cells:
            self.lay_node(cell)
        out_of: dict[int, list[int]] = {cell.number: [] for cell in plan.cells}
        for cell in plan.cells:
            for pipe in cell.pipes:
                out_of[pipe.source.number].append(self.lay_edge(pipe, cell))
        for cell in plan.cells:
            a = self.at[cell.number]
            a.edges, a.edge_count = Words(heap.keep(out_of[cell.number])), len(out_of[cell.number])
            for family in (0, 1):
                readers = [
                    word
                    for join in plan.cells
                    if join.kind == kinds.JOIN
                    for on_left, side in ((1, join.left), (0, join.right))
                    if side is not None and side.cell is cell and side.family == family
                    for word in (self.at[join.number], on_left)
                ]
                a.readers[family].joins = Words(heap.keep(readers))
                a.readers[family].count = len(readers) // 2
            if a.tally:
                self.lay_way_out(cell, a.tally)
        self.program = self.lay_program()

    def lay_way_out(self, cell: Cell, ty: tallies.Tally) -> None:
        """Whether some output may show a tally's corrections in their order, and whether one output takes them all."""
        to = [(pipe, other) for other in self.plan.cells for pipe in other.pipes if pipe.source is cell]
        ty.sorts = int(any(other.kind not in KEYED for _, other in to))
        if len(to) == 1 and int(self.header.workers) == 1:
            ((pipe, other),) = to
            is_as_said = other.kind == kinds.OUTPUT and not pipe.stages and pipe.sign == 1
            if is_as_said and is_consolidated(other, self.plan):
                ty.output = self.at[other.number]

    def lay_node(self, cell: Cell) -> None:
        heap, a = self.heap, self.at[cell.number]
        a.kind, a.number, a.lanes = cell.kind, cell.number, cell.schema.width
        taken = cell.taken(self.plan.graph)
        keys = len(taken.lanes_of(cell.key))
        a.op, a.depth = cell.op, cell.depth
        a.least = w.NOTHING
        a.most_rounds = -1
        if cell.kind == kinds.ARRANGE:
            self.lay_table(a, keys, [2 + taken.width - keys])
        elif cell.kind == kinds.SETTLE:
            self.lay_table(a, keys, [], 2)
            if cell.limit is not None:
                a.most_rounds, a.rounds_field = cell.limit, self.shift[cell.depth - 1]
        elif cell.kind == kinds.REDUCE:
            self.lay_reduce(cell, a)
        elif cell.kind == kinds.JOIN:
            assert cell.left is not None and cell.right is not None
            a.left, a.left_family = self.at[cell.left.cell.number], cell.left.family
            a.right, a.right_family = self.at[cell.right.cell.number], cell.right.family
            words: list[int] = []
            for _, side, column in cell.columns:
                for is_key, lane in (cell.left, cell.right)[side].lanes(column):
                    words += [0 if is_key else 1 + side, lane]
            a.projection = Words(heap.keep(words))
        elif cell.kind == kinds.OUTPUT:
            a.raw = int(is_consolidated(cell, self.plan))
        elif cell.kind == kinds.DELAY:
            assert isinstance(cell.action, n.Delay)
            delay = program(cell.action.times, None, coordinates_schema(self.plan), self.pool)
            assert delay is not None, "the rules let pass only what runs inside"
            a.spec = Words(self.keep_program(delay))
        elif cell.kind == kinds.WAIT:
            assert isinstance(cell.action, n.Wait)
            a.wait_lane, a.rounds_field = cell.schema.lanes(cell.action.column).start, self.shift[cell.depth - 1]
            if cell.limit is not None:
                a.most_rounds = cell.limit

    def lay_table(self, a: kinds.Node, keys: int, widths: list[int], width: int = 0, folds: int = 0) -> None:
        tb = tables.Table(self.heap.zeros(tables.Table.SIZE))
        a.table = tb
        tb.keys, tb.families, tb.folds = keys, len(widths), Words(folds)
        tb.record = keys + tables.marks_words(len(widths))
        tb.mask = -1
        tb.sweep_at = 1024
        for i, words in enumerate(widths or [width]):
            tb.widths[i] = words
        resize(self.header, tb, 16)

    def lay_reduce(self, cell: Cell, a: kinds.Node) -> None:
        heap = self.heap
        node = self.plan.graph.nodes[cell.node]
        assert isinstance(node, n.Reduce)
        source = self.plan.graph.schemas[node.source]
        taken = cell.taken(self.plan.graph)
        keys = len(taken.lanes_of(cell.key))
        outs = node.schema.width - keys
        widths = [2 + taken.width - keys, 2 + outs]
        folds = 0
        if cell.op == answers.COUNTED:
            a.spec = Words(heap.keep([outs]))
        elif cell.op == answers.SUMMED:
            assert isinstance(node.reducer, n.Aggregates)
            columns, spec = summed(node.reducer, cell.values, source)
            words = accumulators.sums_spec(columns)
            folds = heap.keep(words)
            widths.append(2 + words[0])
            a.spec = Words(heap.keep(spec))
        elif cell.op == answers.BAGGED:
            assert isinstance(node.reducer, n.Aggregates)
            a.spec = Words(heap.keep(bagged(node.reducer, cell.values, source)))
        elif cell.op == answers.TOPPED:
            assert isinstance(node.reducer, n.Top)
            a.spec = Words(heap.keep(topped(node.reducer, cell.values, source)))
        elif cell.op == answers.WINDOWED:
            assert isinstance(node.reducer, n.Window)
            a.spec = Words(heap.keep(windowed(node.reducer, cell.values, source, node.schema)))
        self.lay_table(a, keys, widths, folds=folds)
        a.table.hangs_index = int(cell.op == answers.WINDOWED)
        short = cell.depth == 0 and not self.plan.general and cell.op != answers.USER_FUNCTION
        a.short = int(short)
        a.kept = int(not short or cell.readers > 0)
        if is_running(cell, self.plan):
            self.lay_tally(cell, a)

    def lay_tally(self, cell: Cell, a: kinds.Node) -> None:
        """A reduction that keeps sums alone."""
        ty = tallies.Tally(self.heap.zeros(tallies.Tally.SIZE))
        a.tally = ty
        ty.keys, ty.mask = int(a.table.keys), -1
        folds = int(a.table.folds)
        ty.words = accumulators.Sums(folds).words if folds else 1
        if len(cell.pipes) == 1 and int(self.header.workers) == 1:
            source = cell.pipes[0].source
            ty.eager = 2 if source.kind == kinds.INPUT else int(is_running(source, self.plan))

    def lay_edge(self, pipe: Pipe, to: Cell) -> int:
        heap = self.heap
        mask = -1
        if pipe.keeps is not None:
            one = (1 << (int(self.header.bits) + 1)) - 1
            mask = sum(one << self.shift[d - 1] for d in pipe.keeps if d <= self.plan.depth)
        stages = [self.lay_stage(stage) for stage in pipe.stages]
        a = self.at[to.number]
        if to.partition_key is not None and not a.partition_lanes:
            lanes = to.taken(self.plan.graph).lanes_of(to.partition_key)
            a.partition_lanes = Words(heap.keep([len(lanes), *lanes]))
        laid = edges.Edge(heap.zeros(edges.Edge.SIZE + len(stages)))
        laid.to, laid.sign, laid.mask = self.at[to.number], pipe.sign, mask
        laid.add = sum(1 << self.shift[d - 1] for d in pipe.rises)
        laid.field = self.shift[pipe.rises[-1] - 1] if pipe.limit is not None and pipe.rises else 0
        laid.most = pipe.limit if pipe.limit is not None and pipe.rises else -1
        laid.raises = int(to.limit is not None)
        laid.exchange = int(id(pipe) not in to.local)
        laid.stage_count = len(stages)
        laid.to_lanes = to.taken(self.plan.graph).width
        for i, stage in enumerate(stages):
            laid.stages[i] = stage
        return laid

    def lay_stage(self, stage: Stage) -> int:
        lanes = stage.as_copy()
        if lanes is not None:
            return self.heap.keep([block.COPY, len(lanes), *lanes])
        words = program(stage.columns, stage.condition, stage.schema, self.pool)
        assert words is not None, "what does not run inside is a cell of its own"
        blocked = int(runs_in_blocks(words))
        outs = sum(expr.type.words for expr in stage.columns)
        laid = self.heap.keep([block.PROGRAM, self.keep_program(words), stage.schema.width, outs, blocked])
        self.stages[laid] = stage
        return laid

    def keep_program(self, words) -> int:
        """The address of an expression's program, which may refer to the text pool."""
        at = self.heap.keep(words)
        steps = words[: 1 + int(words[0]) * STEP]  # behind them are tables, of any numbers
        self.pool_words += [at + int(i) for i in np.flatnonzero(steps == self.pool.address)]
        return at

    def lay_program(self) -> int:
        plan = self.plan
        bits = int(self.header.bits)
        one = (1 << (bits + 1)) - 1
        masks = [sum(one << s for s in self.shift[:d]) for d in range(plan.depth + 1)]
        code: list[list[int]] = []
        open_: list[int] = []
        around: list[Begin] = []
        self.around: list[tuple[Begin, ...]] = []  # the loops around each instruction
        several = int(self.header.workers) > 1
        # the cells whose rows went out since workers last met, as they do at the head of a loop and where it ends
        since = {cell.number for cell in plan.inputs.values()}
        for part in plan.program:
            if isinstance(part, Begin):
                around.append(part)
                open_.append(len(code))
                code.append([w.LOOP, 0, masks[part.depth - 1], masks[part.depth]])
                since = set()
            elif isinstance(part, End):
                begin = open_.pop()
                code.append([w.END, begin, 0, 0])
                self.around.append(tuple(around))
                around.pop()
                code[begin][1] = len(code)
                since = set()
            else:
                if several and sends(part, since):
                    code.append([w.SYNC, 0, 0, 0])
                    since = set()
                a = self.at[part.number]
                a.position = len(code)
                code.append([w.NODE_AT, a, 0, 0])
                since.add(part.number)
            self.around += [tuple(around)] * (len(code) - len(self.around))
        if several and any(sends(cell, since) for cell in plan.cells):
            code.append([w.SYNC, 0, 0, 0])
        code.append([w.STOP, 0, 0, 0])
        self.around += [()] * (len(code) - len(self.around))
        start = self.heap.zeros(w.Instruction.SIZE * len(code))
        for k, (op, argument, outer, inner) in enumerate(code):
            if op in (w.LOOP, w.END):
                argument = start + w.Instruction.SIZE * argument
            self.H[start + 4 * k : start + 4 * k + 4] = (op, argument, outer, inner)
        return start

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
        w.tidy(self.header, self.step, int(self.header.effort) if fuel is None else fuel)

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
            w.begin_slice(self.header, Words(self.nodes), len(self.at))

    def ranks(self, times: np.ndarray) -> np.ndarray:
        """The ranks of rows of coordinates, in the general clock."""
        found = np.empty(len(times), np.int64)
        intern_rows(self.header, np.ascontiguousarray(times), found)
        return found

    def feed(self, name: str, lanes: np.ndarray, ranks: np.ndarray, diffs: np.ndarray) -> None:
        cell = self.plan.inputs.get(name)
        if cell is not None and lanes.shape[1]:
            rows, ranks, diffs = map(np.ascontiguousarray, (lanes, told_once(ranks), told_once(diffs)))
            w.feed_rows(self.header, self.at[cell.number], rows, ranks, diffs)

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
            reason = w.walk(self.header)
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
        edges.receive_at(self.header, Words(address_of(words)), len(words))

    def quick_step(self, name: str, lanes: np.ndarray, diffs: np.ndarray) -> int:
        """A slice of one time at one input, in one call; diffs: one for each row, or for all.  Returns its outcome."""
        self.step += 2  # one to tidy, one to walk
        told = w.quick_step(self.header, self.inputs[name], self.program, self.step, lanes, diffs)
        return w.outcome(self.header, self.go_on(told)) if told & w.REASON else told

    def few_step(self, name: str, words: np.ndarray) -> int:
        """The same for a few rows: `lanes, time, diff` one after the other, all at one time."""
        self.step += 2
        told = w.few_step(self.header, self.inputs[name], self.program, self.step, words)
        return w.outcome(self.header, self.go_on(told)) if told & w.REASON else told

    def take(self, output: str, buffer: ResultBuffer | None = None, count: int | None = None) -> np.ndarray | None:
        """The rows of an output: int64[lanes + 2, rows], time (in the general clock: rank) and diff last; None when
        there are none, or they were gathered.  Count: how many there are, if that is known.
        """
        if buffer is not None:
            self.take_direct(output, buffer)
        a, lanes = self.outputs[output]
        if count is None:
            count = w.waiting_rows(self.header, a)
        if count == 0:
            return None
        out, first = (np.empty((lanes + 2, count), np.int64), 0) if buffer is None else buffer.room(count)
        w.give_rows(self.header, a, out, first, NO_TIMES if self.plan.general else self.slice_times)
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
        w.undo(self.header, Words(self.nodes), len(self.at))
        if self.saved is not None:
            for a in self.at:
                a.hold.length = a.owes.length = 0
            for v, words in self.saved:
                self.heap.load(v, words)

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
        }
        return {name: int(count) for name, count in counted.items()}


# ---- descriptions of reducers ---------------------------------------------------------------------


def shape_of(type: Type) -> int:
    """What a lane is."""
    if type.is_wide:
        return answers.WIDE_FIRST
    if type.name == "decimal":
        return answers.SCALED
    return answers.REAL if type.is_float else answers.TEXT if type.is_text else answers.WHOLE


def lane_shapes(names: Iterable[str], schema: Schema) -> list[int]:
    """What the lanes of these columns are, for who compares one after the other."""
    shapes = ((answers.WHOLE if schema[name].is_wide else shape_of(schema[name]), name) for name in names)
    return [shape for shape, name in shapes for _ in schema.lanes(name)]


def answer_shapes(of: Type, gives: Type) -> tuple[int, ...]:
    """How an answer is described: once for each of its words."""
    shape = shape_of(of)
    if not gives.is_wide:
        return (shape,)
    return (shape, answers.WIDE_SECOND) if of.is_wide else (answers.SCALED_FIRST, answers.SCALED_SECOND)


def bagged(reducer: n.Aggregates, values: tuple[str, ...], source: Schema, sums: bool = False) -> list[int]:
    """sums: the lane is the number of a column of the accumulators."""
    kept = Schema(tuple(Field(name, source[name]) for name in values))
    entries: list[int] = []
    for a in reducer.aggregates:
        kind = kind_of(a.op)
        if a.column is None:
            entries += [kind.opcode, 0, 0, 1, 0]
            continue
        of = source[a.column]
        lane = values.index(a.column) if sums else kept.lanes(a.column).start
        shapes = (answers.WHOLE,) if a.op == "count" else answer_shapes(of, kind.gives(of))
        for shape in shapes:
            entries += [kind.opcode, lane, shape, beside(a, kept), room_of(kind.gives(of))]
    return [len(entries) // answers.AGGREGATE, *entries]


def room_of(gives: Type) -> int:
    """What a decimal may come to, as its kernels want to know it."""
    return gives.precision if gives.is_wide else gives.most


def beside(a: n.Aggregate, kept: Schema) -> int:
    """What else is said of an aggregate: its number, its second column, or the digits that a mean has more."""
    if a.by is not None:
        return kept.lanes(a.by).start * ordered_values.SHAPES + shape_of(kept[a.by])
    if kind_of(a.op).has_part:
        return to_lane(split(a.op)[1], DOUBLE, None)  # type: ignore[arg-type]
    assert a.column is not None
    return min(kept[a.column].scale + 4, PRECISION) - kept[a.column].scale


def summed(reducer: n.Aggregates, values: tuple[str, ...], source: Schema) -> tuple[list[tuple[int, int]], list[int]]:
    """The columns to add up, and how the answer is made of them."""
    adds = {a.column for a in reducer.aggregates if kind_of(a.op).takes == "number"}
    kept = Schema(tuple(Field(name, source[name]) for name in values))
    shapes = [
        accumulators.ONLY_COUNT
        if name not in adds
        else accumulators.FLOAT_SUM
        if source[name].is_float
        else accumulators.WIDE_SUM
        if source[name].is_wide
        else accumulators.INT_SUM
        for name in values
    ]
    return list(zip(kept.starts, shapes, strict=True)), bagged(reducer, values, source, sums=True)


def topped(reducer: n.Top, values: tuple[str, ...], source: Schema) -> list[int]:
    kept = Schema(tuple(Field(name, source[name]) for name in values))
    asked = [(name, int(down)) for name, down in reducer.order if name in values]
    order = [
        (lane, down, shape)
        for name, down in asked
        for lane, shape in zip(kept.lanes(name), lane_shapes([name], kept), strict=True)
    ]
    return [
        reducer.n,
        len(order),
        *(word for key in order for word in key),
        kept.width,
        *lane_shapes(values, kept),
    ]


def windowed(reducer: n.Window, values: tuple[str, ...], source: Schema, gives: Schema) -> list[int]:
    kept = Schema(tuple(Field(name, source[name]) for name in values))
    order = [
        (lane, int(down), shape_of(kept[name]) if i == 0 else answers.WHOLE, int(last))
        for name, down, last in reducer.order
        if name in values
        for i, lane in enumerate(kept.lanes(name))
    ]
    keys = [word for key in order for word in key]
    lanes = [kept.width, *lane_shapes(values, kept)]
    differ = any(
        FUNCTIONS[f.op].counts or (f.frame is not None and f.frame.unit == "rows" and f.frame != WHOLE)
        for f in reducer.functions
    )
    reach = reduce(Reach.joined, map(reach_of, reducer.functions), Reach())
    real = bool(order) and order[0][2] == answers.REAL
    functions = [words for f in reducer.functions for words in described(f, kept, gives[f.name], real)]
    at = window_order.Window.SIZE + len(keys) + len(lanes)
    head = [len(functions), at, int(differ), len(order), *map(int, astuple(reach))]
    return head + keys + lanes + [word for words in functions for word in words]


def described(function: n.WindowFunction, kept: Schema, gives: Type, real: bool) -> Iterator[list[int]]:
    """A function of a window, once for each word of its results; real: whether offsets are of an order column of
    floats.
    """
    frame = function.frame or WHOLE
    ends = []
    for end in (frame.start, frame.end):
        how = window_order.UNBOUNDED if end is None else window_order.OFFSET if end else window_order.CURRENT
        measured = real and frame.unit == "range"
        ends += [how, float_to_lane(float(end or 0)) if measured else int(end or 0)]
    unit = window_order.RANGE if frame.unit == "range" else window_order.ROWS
    behind = [unit, *ends, function.number]
    opcode, skips = list(FUNCTIONS).index(function.op), int(function.skips_nulls)
    default = -1 if function.default is None else kept.lanes(function.default).start
    if function.column is None:
        yield [opcode, 0, 0, 1, 0, *behind, default, skips]
        return
    type, lane = kept[function.column], kept.lanes(function.column).start
    digits = min(type.scale + 4, PRECISION) - type.scale
    if function.op in ("count", "count_rows"):
        yield [opcode, lane, answers.WHOLE, digits, 0, *behind, default, skips]
    elif opcode <= window_order.NTH_VALUE:  # the words of another row, as they are
        for word in range(gives.words):
            other = default + word if default >= 0 else -1
            yield [opcode, lane + word, answers.WHOLE, digits, 0, *behind, other, skips]
    else:
        for shape in answer_shapes(type, gives):
            yield [opcode, lane, shape, digits, room_of(gives), *behind, default, skips]


def sends(to: Cell, visited: set[int]) -> bool:
    """Whether a visit to some of these cells may have sent rows for another worker's share of a cell."""
    for pipe in to.pipes:
        source = pipe.source
        # a join gives what it finds when one of its sides is visited
        cells = [side.cell for side in (source.left, source.right) if side] if source.kind == kinds.JOIN else [source]
        if id(pipe) not in to.local and any(cell.number in visited for cell in cells):
            return True
    return False


def is_consolidated(cell: Cell, plan: Plan) -> bool:
    """Whether an output's rows arrive with each record once a time: a reduction outside loops, with all its columns."""
    if len(cell.pipes) != 1:
        return False
    (pipe,) = cell.pipes
    if pipe.source.kind != kinds.REDUCE or pipe.source.depth != 0:
        return False
    if not pipe.stages:
        return True
    lanes = pipe.stages[0].as_copy()
    return len(pipe.stages) == 1 and lanes is not None and set(lanes) == set(range(pipe.source.schema.width))


def is_running(cell: Cell, plan: Plan) -> bool:
    """Whether sums are all that a reduction needs to keep: it only adds up, times are ordered, and no join reads it."""
    adds = cell.op in (answers.DISTINCT, answers.COUNTED, answers.SUMMED)
    return cell.kind == kinds.REDUCE and adds and cell.depth == 0 and not plan.general and cell.readers == 0


def coordinates_schema(plan: Plan) -> Schema:
    from ebbflow.columns.schema import LONG, Field

    return Schema(tuple(Field(name, LONG) for name in plan.graph.coordinates))
