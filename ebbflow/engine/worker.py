"""Worker: one shard of every arrangement in a heap of its own, and the walk over them.

The plan is written into the heap once, as words. After that a worker is fed rows, walks, and hands out the rows of its
outputs; where a user's function is needed it calls it.

Rule: a worker deals with cells and rows; which times are complete, and what other workers do, is given to it.
"""

from __future__ import annotations

import time

import numpy as np

from ebbflow import events, interrupts
from ebbflow.columns.schema import PRECISION, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.lower import Begin, Cell, End, Pipe, Plan, Stage
from ebbflow.engine import walk as w
from ebbflow.engine.callbacks import Callbacks
from ebbflow.engine.compact_times import compact_times
from ebbflow.engine.result_buffer import ResultBuffer
from ebbflow.expressions.interpreter import REGISTERS, STEP, program, runs_in_blocks
from ebbflow.limits import COLUMNS, WORKERS, rounds
from ebbflow.native.kernel import address_of
from ebbflow.operators import block, consolidate, edges
from ebbflow.operators import node as kinds
from ebbflow.operators.exchange import barrier
from ebbflow.operators.reduce import answers
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
LIMITS = {"seal_rows": h.SEAL, "keep_records": h.KEEP, "effort": h.EFFORT, "near_slots": h.CACHED_SLOTS}


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
        self.heap = heap = h.Heap(reserve, None if base is None else base + me * reserve)
        self.H, self.W = heap.H, heap.W
        self.callbacks = Callbacks(plan, pool)
        H, W = self.H, self.W
        bits = rounds(plan.depth).bit_length()
        self.shift = [(plan.depth - 1 - d) * (bits + 1) for d in range(plan.depth)]
        H[W + h.GUARD] = sum(1 << (s + bits) for s in self.shift)
        H[W + h.BITS] = bits
        H[W + h.COORDS] = len(plan.graph.coordinates)
        H[W + h.GENERAL] = int(plan.general)
        H[W + h.WORKERS], H[W + h.ME] = workers, me
        H[W + h.POOL] = pool.address
        self.pool_words = [W + h.POOL]  # where it is written that the text pool lies there, in this process
        for name, value in limits.items():
            H[W + LIMITS[name]] = value
        if plan.general:
            respread(H, W, 64)
        self.lay_out()
        self.saved: list[tuple[int, np.ndarray]] | None = None  # what an advance found waiting
        self.step = 0
        self.kept = 0  # up to which step nothing is taken back
        self.trim_at = 0.0  # when memory may next be returned to the system
        self.forget_times = self.forget_at = forget_times
        self.slice_times = np.empty(0, np.int64)  # with one coordinate: those of the slice, in order
        self.moment = np.zeros(1, np.int64)  # the same where a slice has one
        self.stopped = False  # set by whoever waits for this worker's thread, when a person has had enough
        self.inputs = {name: self.at[cell.number] for name, cell in plan.inputs.items()}
        self.outputs = {name: (self.at[cell.number], len(cell.schema)) for name, cell in plan.outputs.items()}

    # ---- the plan, as words -----------------------------------------------------------------

    def lay_out(self) -> None:
        plan, heap, H, W = self.plan, self.heap, self.H, self.W
        self.stages: dict[int, Stage] = {}  # by address, for what is told of a row that overflowed
        self.at = [heap.zeros(kinds.NODE) for _ in plan.cells]
        self.nodes = heap.keep(self.at)
        self.widest = max((max(len(c.schema), len(c.key) + len(c.values)) for c in plan.cells), default=0)
        assert self.widest <= COLUMNS, "the rules let no wider collection pass"
        for v in (h.ROW, h.ROW2, h.WANT):  # rows in passing: lanes, or an expression's registers
            h.reserve(H, W, W + v, self.widest + REGISTERS)
        H[W + h.NODES], H[W + h.NODE_COUNT] = self.nodes, len(self.at)
        H[W + h.BLOCK] = h.alloc(H, W, block.ROOM)
        for cell in plan.cells:
            self.lay_node(cell)
        out_of: dict[int, list[int]] = {cell.number: [] for cell in plan.cells}
        for cell in plan.cells:
            for pipe in cell.pipes:
                out_of[pipe.source.number].append(self.lay_edge(pipe, cell))
        for cell in plan.cells:
            a = self.at[cell.number]
            H[a + kinds.EDGES], H[a + kinds.EDGE_COUNT] = heap.keep(out_of[cell.number]), len(out_of[cell.number])
            for family in (0, 1):
                readers = [
                    word
                    for join in plan.cells
                    if join.kind == kinds.JOIN
                    for on_left, side in ((1, join.left), (0, join.right))
                    if side.cell is cell and side.family == family
                    for word in (self.at[join.number], on_left)
                ]
                H[a + kinds.READERS + 2 * family] = heap.keep(readers)
                H[a + kinds.READERS + 2 * family + 1] = len(readers) // 2
            if H[a + kinds.TALLY_AT]:
                self.lay_way_out(cell, int(H[a + kinds.TALLY_AT]))
        self.program = self.lay_program()

    def lay_way_out(self, cell: Cell, ty: int) -> None:
        """Whether some output may show a tally's corrections in their order, and whether one output takes them all."""
        to = [(pipe, other) for other in self.plan.cells for pipe in other.pipes if pipe.source is cell]
        self.H[ty + tallies.T_SORTS] = int(any(other.kind not in KEYED for _, other in to))
        if len(to) == 1 and int(self.H[self.W + h.WORKERS]) == 1:
            ((pipe, other),) = to
            is_as_said = other.kind == kinds.OUTPUT and not pipe.stages and pipe.sign == 1
            if is_as_said and is_consolidated(other, self.plan):
                self.H[ty + tallies.T_OUTPUT] = self.at[other.number]

    def lay_node(self, cell: Cell) -> None:
        heap, H, a = self.heap, self.H, self.at[cell.number]
        H[a + kinds.KIND], H[a + kinds.NUMBER], H[a + kinds.LANES] = cell.kind, cell.number, len(cell.schema)
        H[a + kinds.OP], H[a + kinds.DEPTH] = cell.op, cell.depth
        H[a + kinds.LEAST] = w.NOTHING
        H[a + kinds.MOST_ROUNDS] = -1
        if cell.kind == kinds.ARRANGE:
            self.lay_table(a, len(cell.key), [2 + len(cell.values)])
        elif cell.kind == kinds.SETTLE:
            self.lay_table(a, len(cell.key), [], 2)
            if cell.limit is not None:
                H[a + kinds.MOST_ROUNDS], H[a + kinds.ROUNDS_FIELD] = cell.limit, self.shift[cell.depth - 1]
        elif cell.kind == kinds.REDUCE:
            self.lay_reduce(cell, a)
        elif cell.kind == kinds.JOIN:
            H[a + kinds.LEFT], H[a + kinds.LEFT_FAMILY] = self.at[cell.left.cell.number], cell.left.family
            H[a + kinds.RIGHT], H[a + kinds.RIGHT_FAMILY] = self.at[cell.right.cell.number], cell.right.family
            words: list[int] = []
            for _, side, column in cell.columns:
                family = (cell.left, cell.right)[side]
                if column in family.key:
                    words += [0, family.key.index(column)]
                else:
                    words += [1 + side, family.values.index(column)]
            H[a + kinds.PROJECTION] = heap.keep(words)
        elif cell.kind == kinds.OUTPUT:
            H[a + kinds.RAW] = int(is_consolidated(cell, self.plan))
        elif cell.kind == kinds.DELAY:
            words = program(cell.action.times, None, coordinates_schema(self.plan), self.pool)
            H[a + kinds.SPEC] = self.keep_program(words)
        elif cell.kind == kinds.WAIT:
            H[a + kinds.SPEC], H[a + kinds.ROUNDS_FIELD] = (
                cell.schema.index(cell.action.column),
                self.shift[cell.depth - 1],
            )
            if cell.limit is not None:
                H[a + kinds.MOST_ROUNDS] = cell.limit

    def lay_table(self, a: int, keys: int, widths: list[int], width: int = 0, folds: int = 0) -> None:
        heap, H = self.heap, self.H
        tb = heap.zeros(tables.TABLE)
        H[a + kinds.TB] = tb
        H[tb + tables.KEYS], H[tb + tables.FAMILIES], H[tb + tables.FOLDS] = keys, len(widths), folds
        H[tb + tables.RECORD] = keys + tables.SEGMENTS + tables.SEGMENT * len(widths)
        H[tb + tables.MASK] = -1
        H[tb + tables.SWEEP_AT] = 1024
        for i, words in enumerate(widths or [width]):
            H[tb + tables.WIDTH + i] = words
        resize(H, self.W, tb, 16)

    def lay_reduce(self, cell: Cell, a: int) -> None:
        heap, H = self.heap, self.H
        node = self.plan.graph.nodes[cell.node]
        source = self.plan.graph.schemas[node.source]
        outs = len(node.schema) - len(cell.key)
        widths = [2 + len(cell.values), 2 + outs]
        folds = 0
        if cell.op == answers.COUNTED:
            H[a + kinds.SPEC] = heap.keep([outs])
        elif cell.op == answers.SUMMED:
            columns, spec = summed(node.reducer, cell.values, source)
            words = accumulators.sums_spec(columns)
            folds = heap.keep(words)
            widths.append(2 + words[accumulators.WORDS])
            H[a + kinds.SPEC] = heap.keep(spec)
        elif cell.op == answers.BAGGED:
            H[a + kinds.SPEC] = heap.keep(bagged(node.reducer, cell.values, source))
        elif cell.op == answers.TOPPED:
            H[a + kinds.SPEC] = heap.keep(topped(node.reducer, cell.values, source))
        self.lay_table(a, len(cell.key), widths, folds=folds)
        short = cell.depth == 0 and not self.plan.general and cell.op != answers.USER_FUNCTION
        H[a + kinds.SHORT] = int(short)
        H[a + kinds.KEPT] = int(not short or cell.readers > 0)
        if is_running(cell, self.plan):
            self.lay_tally(cell, a)

    def lay_tally(self, cell: Cell, a: int) -> None:
        """A reduction that keeps sums alone."""
        H, ty = self.H, self.heap.zeros(tallies.TALLY)
        H[a + kinds.TALLY_AT] = ty
        H[ty + tallies.T_KEYS], H[ty + tallies.T_MASK] = len(cell.key), -1
        folds = int(H[int(H[a + kinds.TB]) + tables.FOLDS])
        H[ty + tallies.T_WORDS] = H[folds + accumulators.WORDS] if folds else 1
        if len(cell.pipes) == 1 and int(H[self.W + h.WORKERS]) == 1:
            source = cell.pipes[0].source
            H[ty + tallies.T_EAGER] = 2 if source.kind == kinds.INPUT else int(is_running(source, self.plan))

    def lay_edge(self, pipe: Pipe, to: Cell) -> int:
        heap, H = self.heap, self.H
        mask = -1
        if pipe.keeps is not None:
            one = (1 << (int(H[self.W + h.BITS]) + 1)) - 1
            mask = sum(one << self.shift[d - 1] for d in pipe.keeps if d <= self.plan.depth)
        stages = [self.lay_stage(stage) for stage in pipe.stages]
        words = [0] * edges.FIRST_STAGE
        words[edges.TO], words[edges.SIGN], words[edges.MASK] = self.at[to.number], pipe.sign, mask
        words[edges.ADD] = sum(1 << self.shift[d - 1] for d in pipe.rises)
        words[edges.FIELD] = self.shift[pipe.rises[-1] - 1] if pipe.limit is not None and pipe.rises else 0
        words[edges.MOST] = pipe.limit if pipe.limit is not None and pipe.rises else -1
        words[edges.RAISES] = int(to.limit is not None)
        words[edges.EXCHANGE] = int(id(pipe) not in to.local)
        words[edges.STAGES] = len(stages)
        words[edges.TO_LANES] = (
            len(to.key) + len(to.values) if to.kind in (kinds.ARRANGE, kinds.REDUCE) else len(to.schema)
        )
        a = self.at[to.number]
        if to.partition_key is not None and not H[a + kinds.PARTITION_LANES]:
            names = to.key if to.key else to.schema.names
            lanes = [names.index(name) for name in to.partition_key]
            H[a + kinds.PARTITION_LANES] = heap.keep([len(lanes), *lanes])
        return heap.keep(words + stages)

    def lay_stage(self, stage: Stage) -> int:
        lanes = stage.as_copy()
        if lanes is not None:
            return self.heap.keep([block.COPY, len(lanes), *lanes])
        words = program(stage.columns, stage.condition, stage.schema, self.pool)
        blocked = int(runs_in_blocks(words))
        laid = self.heap.keep([block.PROGRAM, self.keep_program(words), len(stage.schema), len(stage.columns), blocked])
        self.stages[laid] = stage
        return laid

    def keep_program(self, words) -> int:
        """The address of an expression's program, which may refer to the text pool."""
        at = self.heap.keep(words)
        steps = words[: 1 + int(words[0]) * STEP]  # behind them are tables, of any numbers
        self.pool_words += [at + int(i) for i in np.flatnonzero(steps == self.pool.address)]
        return at

    def lay_program(self) -> int:
        plan, H = self.plan, self.H
        bits = int(H[self.W + h.BITS])
        one = (1 << (bits + 1)) - 1
        masks = [sum(one << s for s in self.shift[:d]) for d in range(plan.depth + 1)]
        code: list[list[int]] = []
        open_: list[int] = []
        around: list[Begin] = []
        self.around: list[tuple[Begin, ...]] = []  # the loops around each instruction
        several = int(H[self.W + h.WORKERS]) > 1
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
                H[a + kinds.POSITION] = len(code)
                code.append([w.NODE_AT, a, 0, 0])
                since.add(part.number)
            self.around += [tuple(around)] * (len(code) - len(self.around))
        if several and any(sends(cell, since) for cell in plan.cells):
            code.append([w.SYNC, 0, 0, 0])
        code.append([w.STOP, 0, 0, 0])
        self.around += [()] * (len(code) - len(self.around))
        start = self.heap.zeros(w.INSTRUCTION * len(code))
        for k, (op, argument, outer, inner) in enumerate(code):
            if op in (w.LOOP, w.END):
                argument = start + w.INSTRUCTION * argument
            H[start + 4 * k : start + 4 * k + 4] = (op, argument, outer, inner)
        return start

    # ---- an advance -------------------------------------------------------------------------

    def keep_last(self) -> None:
        """The last advance counts: nothing is left to undo until the next one has begun, which has a later step."""
        self.kept, self.saved = self.step, None

    def begin_advance(self, keeping: bool, lower=()) -> None:
        """From here on everything can be undone."""
        H, W = self.H, self.W
        if self.plan.general:
            H[W + h.PAST] = 0  # the last advance may have been taken back
            self.set_lower(lower)
            self.forget_past(lower)
        self.tidy()
        H[W + h.FIRST] = self.step + 1
        H[W + h.SAVES_SEGMENTS] = int(keeping)
        if self.plan.general:
            self.saved = [
                (v, self.heap.vector(v).copy())
                for a in self.at
                for v in (a + kinds.HOLD, a + kinds.OWES)
                if H[v + h.LEN]
            ]

    def set_lower(self, lower) -> None:
        """The frontier to which histories fold from now on."""
        H, W, c = self.H, self.W, len(self.plan.graph.coordinates)
        self.heap.load(W + h.LOWER, np.array(lower, np.int64).reshape(-1))
        h.reserve(H, W, W + h.LOWER, len(lower) * c + 2 * c)
        self.set_lowest(lower)

    def forget_past(self, lower) -> None:
        """When most interned times are past the lower frontier, they are forgotten."""
        H, W = self.H, self.W
        if int(H[W + h.TIMES + h.LEN]) // len(self.plan.graph.coordinates) > self.forget_at:
            self.forget_at = 2 * int(compact_times(H, W, self.nodes, len(self.at))) + self.forget_times
            self.set_lowest(lower)

    def set_lowest(self, lower) -> None:
        """What is older folds to the only element of the lower frontier, which has a rank before all that comes now."""
        H, W = self.H, self.W
        c = len(self.plan.graph.coordinates)
        H[W + h.LOWEST] = self.ranks(np.array(lower, np.int64))[0] + 1 if len(lower) == 1 else 0
        known = int(H[W + h.TIMES + h.LEN]) // c
        H[W + h.CHAIN_FROM] = known - int(H[W + h.LOWEST] == known)
        fresh = self.heap.vector(W + h.TIMES)[int(H[W + h.PAST]) * c :]
        if len(lower) != 1:
            H[W + h.PAST] = 0
        elif all((fresh[k::c] <= lower[0][k]).all() for k in range(c)):
            H[W + h.PAST] = known  # else as many as were past an earlier frontier

    def tidy(self, fuel: int | None = None) -> None:
        """Spend some effort on keeping the state small: keys that are nothing or cold leave, batches merge."""
        H, W = self.H, self.W
        self.step += 1
        w.tidy(H, W, self.step, int(H[W + h.EFFORT]) if fuel is None else fuel)

    def rest(self) -> None:
        """An advance is done: memory that nothing uses goes back to the system, unless it did so a moment ago.

        What is kept as an image gives it back where that is made, by no clock: the same steps leave the same bytes.
        """
        if self.H[self.W + h.LOOSE] and not self.heap.is_placed and time.monotonic() >= self.trim_at:
            self.trim_at = time.monotonic() + TRIM_SECONDS
            self.heap.trim()

    def forget_block(self) -> None:
        """Where the columns of the last block lay is nothing to keep: they were words of this process."""
        columns = int(self.H[self.W + h.BLOCK]) + block.COLUMNS_AT
        for start in (columns, columns + 2 * block.MOST_COLUMNS):
            words = self.H[start : start + 2 * max(self.widest, REGISTERS)]
            if words.any():
                words[:] = 0

    def begin_slice(self, upper=()) -> None:
        H, W = self.H, self.W
        self.step += 1
        H[W + h.STEP] = self.step
        H[W + h.PC], H[W + h.ROUNDS], H[W + h.PHASE] = self.program, 0, 0
        H[W + h.QUIET] = H[W + h.STAGE] = 0  # an abandoned walk may have been at, or past, any barrier
        H[W + h.ERROR] = 0
        if self.plan.general:
            self.heap.load(W + h.UPPER, np.array(upper, np.int64).reshape(-1))
            mark_complete(H, W, int(self.step > H[W + h.FIRST]))
            w.begin_slice(H, W, self.nodes, len(self.at))

    def ranks(self, times: np.ndarray) -> np.ndarray:
        """The ranks of rows of coordinates, in the general clock."""
        found = np.empty(len(times), np.int64)
        intern_rows(self.H, self.W, np.ascontiguousarray(times), found)
        return found

    def feed(self, name: str, lanes: np.ndarray, ranks: np.ndarray, diffs: np.ndarray) -> None:
        cell = self.plan.inputs.get(name)
        if cell is not None and lanes.shape[1]:
            rows, ranks, diffs = map(np.ascontiguousarray, (lanes, told_once(ranks), told_once(diffs)))
            w.feed_rows(self.H, self.W, self.at[cell.number], rows, ranks, diffs)

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
                self.H[int(self.H[self.W + h.BARRIER]) + barrier.STOPPED] = 1
        return reason

    def is_given_up(self) -> bool:
        """Whether somebody who is to be met will not come."""
        at = int(self.H[self.W + h.BARRIER])
        return self.stopped or bool(at and self.H[at + barrier.STOPPED])

    def go_on(self, reason: int) -> int:
        """Do what the walk came back for, and walk on."""
        H, W = self.H, self.W
        while (reason := self.serve(reason)) == w.PAUSED:
            if self.stopped or self.is_given_up():
                break
            interrupts.look()
            H[W + h.FUEL] = w.FULL
            reason = w.walk(H, W)
        return int(reason)

    def serve(self, reason: int) -> int:
        """Do what the walk came back for; PAUSED when it may go on."""
        if reason == w.ASKS or reason == w.CALLS:
            cell = self.plan.cells[int(self.H[int(self.H[self.W + h.LOOP_AT]) + kinds.NUMBER])]
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
        at = (int(self.H[self.W + h.PC]) - self.program) // w.INSTRUCTION
        for begin in reversed(self.around[at]):
            field = int(self.H[self.W + h.ROUNDS]) >> self.shift[begin.depth - 1]
            events.tell(events.RoundBegan(begin.loop, field & ((1 << int(self.H[self.W + h.BITS])) - 1)))

    def outbox_for(self, other: int) -> np.ndarray:
        v = self.W + h.OUTBOXES + h.VECTOR * other
        words = self.heap.vector(v).copy()
        self.H[v + h.LEN] = 0
        return words

    def receive(self, words: np.ndarray) -> None:
        edges.receive_at(self.H, self.W, address_of(words), len(words))

    def quick_step(self, name: str, lanes: np.ndarray, diffs: np.ndarray) -> int:
        """A slice of one time at one input, in one call; diffs: one for each row, or for all.  Returns its outcome."""
        self.step += 2  # one to tidy, one to walk
        told = w.quick_step(self.W, self.inputs[name], self.program, self.step, lanes, diffs)
        return w.outcome(self.H, self.W, self.go_on(told)) if told & w.REASON else told

    def few_step(self, name: str, words: np.ndarray) -> int:
        """The same for a few rows: `lanes, time, diff` one after the other, all at one time."""
        self.step += 2
        told = w.few_step(self.W, self.inputs[name], self.program, self.step, words)
        return w.outcome(self.H, self.W, self.go_on(told)) if told & w.REASON else told

    def take(self, output: str, buffer: ResultBuffer | None = None, count: int | None = None) -> np.ndarray | None:
        """The rows of an output: int64[lanes + 2, rows], time (in the general clock: rank) and diff last; None when
        there are none, or they were gathered.  Count: how many there are, if that is known.
        """
        if buffer is not None:
            self.take_direct(output, buffer)
        a, lanes = self.outputs[output]
        if count is None:
            count = w.waiting_rows(self.W, a)
        if count == 0:
            return None
        out, first = (np.empty((lanes + 2, count), np.int64), 0) if buffer is None else buffer.room(count)
        w.give_rows(self.W, a, out, first, NO_TIMES if self.plan.general else self.slice_times)
        return out if buffer is None else None

    def direct_to(self, output: str, buffer: ResultBuffer) -> None:
        """From here to `take`, rows that come consolidated go where they stay."""
        H, (a, _) = self.H, self.outputs[output]
        left = buffer.left()
        if self.plan.general or not H[a + kinds.RAW] or left.shape[1] == 0:
            return
        H[a + kinds.DIRECT_AT], H[a + kinds.DIRECT_STEP] = address_of(left), left.strides[0] // 8
        H[a + kinds.DIRECT_ROOM], H[a + kinds.DIRECT_ROWS] = left.shape[1], 0
        H[a + kinds.DIRECT_TIMES] = address_of(self.slice_times) - 1

    def take_direct(self, output: str, buffer: ResultBuffer) -> None:
        """The rows that went where they stay are there; no more go there."""
        buffer.room(int(consolidate.stop_direct(self.H, self.outputs[output][0])))

    def time_of(self, ranks: np.ndarray) -> np.ndarray:
        """The coordinates of ranks: among the slice's times, or in the general clock."""
        if not self.plan.general:
            return self.slice_times[ranks - 1][:, None]
        c = len(self.plan.graph.coordinates)
        return self.heap.vector(self.W + h.TIMES).reshape(-1, c)[ranks]

    def undo(self) -> None:
        H, W = self.H, self.W
        if H[W + h.STEP] <= self.kept:  # what was to come has not begun
            H[W + h.FIRST] = self.kept + 1
            H[W + h.UNDO + h.LEN] = 0
        w.undo(H, W, self.nodes, len(self.at))
        if self.saved is not None:
            for a in self.at:
                H[a + kinds.HOLD + h.LEN] = H[a + kinds.OWES + h.LEN] = 0
            for v, words in self.saved:
                self.heap.load(v, words)

    def counters(self) -> dict[str, int]:
        names = {
            "visits": h.VISITS,
            "rows": h.INSERTS,
            "changes": h.DELTAS,
            "answers": h.EVALS,
            "owed": h.OWED,
            "replayed": h.REPLAYED,
            "words": h.LIVE,
            "sealed": h.SEALED,
            "mailed": h.SENT,
        }
        return {name: int(self.H[self.W + at]) for name, at in names.items()}


# ---- descriptions of reducers ---------------------------------------------------------------------

OPS = {
    "count_rows": answers.COUNT_ROWS,
    "count": answers.COUNT_VALUES,
    "sum": answers.SUM,
    "avg": answers.AVG,
    "min": answers.MIN,
    "max": answers.MAX,
    "any_value": answers.MIN,
    "count_distinct": answers.COUNT_DISTINCT,
}


def shape_of(type: Type) -> int:
    if type.name == "decimal":
        return answers.SCALED
    return answers.REAL if type.is_float else answers.TEXT if type.is_text else answers.WHOLE


def bagged(reducer: n.Aggregates, values: tuple[str, ...], source: Schema) -> list[int]:
    words = [len(reducer.aggregates)]
    for a in reducer.aggregates:
        if a.column is None:
            words += [OPS[a.op], 0, 0, 1]
        else:
            type = source[a.column]
            digits = min(type.scale + 4, PRECISION) - type.scale  # that a mean of decimals has more
            words += [OPS[a.op], values.index(a.column), shape_of(type), digits]
    return words


def summed(reducer: n.Aggregates, values: tuple[str, ...], source: Schema) -> tuple[list[tuple[int, int]], list[int]]:
    """The columns to add up, and how the answer is made of them."""
    adds = {a.column for a in reducer.aggregates if a.op in ("sum", "avg")}
    shapes = [
        accumulators.ONLY_COUNT
        if name not in adds
        else accumulators.FLOAT_SUM
        if source[name].is_float
        else accumulators.INT_SUM
        for name in values
    ]
    return list(enumerate(shapes)), bagged(reducer, values, source)


def topped(reducer: n.Top, values: tuple[str, ...], source: Schema) -> list[int]:
    order = [(values.index(name), int(down), shape_of(source[name])) for name, down in reducer.order if name in values]
    return [
        reducer.n,
        len(order),
        *(word for key in order for word in key),
        len(values),
        *(shape_of(source[v]) for v in values),
    ]


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
    return len(pipe.stages) == 1 and lanes is not None and set(lanes) == set(range(len(pipe.source.schema)))


def is_running(cell: Cell, plan: Plan) -> bool:
    """Whether sums are all that a reduction needs to keep: it only adds up, times are ordered, and no join reads it."""
    adds = cell.op in (answers.DISTINCT, answers.COUNTED, answers.SUMMED)
    return cell.kind == kinds.REDUCE and adds and cell.depth == 0 and not plan.general and cell.readers == 0


def coordinates_schema(plan: Plan) -> Schema:
    from ebbflow.columns.schema import LONG, Field

    return Schema(tuple(Field(name, LONG) for name in plan.graph.coordinates))
