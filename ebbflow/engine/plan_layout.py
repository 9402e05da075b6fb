"""Plan layout: a plan written into a worker's heap, as the words that the walk reads.

Cells become nodes with their tables, pipes become edges with the programs of their stages, and the order of visits
becomes instructions. Addresses of the text pool that programs hold are noted: they are those of this process.

Rule: a layout is written once, before any row; the same plan lies at the same addresses in every new heap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ebbflow.columns.schema import LONG, Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.plan import Begin, Cell, End, Pipe, Plan, Stage
from ebbflow.engine.reducer_words import bagged, ordering, summed, topped, windowed
from ebbflow.engine.tactics import keeps_totals, reduction_of
from ebbflow.engine.walk import LOOP, LOOP_END, NODE_AT, STOP, SYNC, Instruction
from ebbflow.expressions.block_interpreter import runs_in_blocks
from ebbflow.expressions.opcodes import REGISTERS, STEP_WORDS
from ebbflow.expressions.program import program
from ebbflow.limits import COLUMNS
from ebbflow.native.structs import Words
from ebbflow.operators import block, edges
from ebbflow.operators import node as kinds
from ebbflow.operators.reduce import answers
from ebbflow.operators.reduce.choose import ORDER_STATISTICS, WINDOW_INDEX, bits_of
from ebbflow.operators.reduce.totals import accumulators
from ebbflow.trace import heap as h
from ebbflow.trace import table as tables
from ebbflow.trace import tally as tallies
from ebbflow.trace.reserved_heap import Heap
from ebbflow.trace.table import resize
from ebbflow.trace.worker_fields import Worker

KEYED = (kinds.ARRANGE, kinds.REDUCE, kinds.SETTLE)  # the order in which rows come is nothing to them


class PlanLayout:
    """A plan in the heap of one worker; shift: where the round of each loop stands in a word of rounds."""

    def __init__(self, plan: Plan, heap: Heap, pool: Any, shift: list[int]):
        self.plan, self.heap, self.header, self.pool, self.shift = plan, heap, heap.header, pool, shift
        # where it is written that the text pool lies there, in this process
        self.pool_words = [heap.W + Worker.FIELDS["pool"].offset]
        self.stages: dict[int, Stage] = {}  # by address, for what is told of a row that overflowed
        self.around: list[tuple[Begin, ...]] = []  # the loops around each instruction
        self.lay_out()

    def lay_out(self) -> None:
        plan, heap, header = self.plan, self.heap, self.header
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
        a.least = kinds.NOTHING
        a.most_rounds = -1
        if cell.kind == kinds.ARRANGE:
            lay_table(self.heap, a, keys, [2 + taken.width - keys])
            a.table.hangs_index = int(not self.plan.general)
        elif cell.kind == kinds.SETTLE:
            lay_table(self.heap, a, keys, [], 2)
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
        if cell.op == answers.COUNT_OF_ROWS:
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
        lay_table(self.heap, a, keys, widths, folds=folds)
        reduction = reduction_of(self.plan, cell)
        a.short, a.kept = int(reduction.is_short), int(reduction.is_kept)
        a.choice = kinds.Choice(heap.zeros(kinds.Choice.SIZE))
        a.choice.bits = bits_of(reduction)
        a.table.hangs_index = int(bool(a.choice.bits & (1 << WINDOW_INDEX | 1 << ORDER_STATISTICS)))
        if a.choice.bits >> ORDER_STATISTICS & 1:
            a.choice.order = heap.keep(ordering(node.reducer, cell.values, source))
        if keeps_totals(self.plan, cell):
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
            ty.eager = 2 if source.kind == kinds.INPUT else int(keeps_totals(self.plan, source))

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
            return self.heap.keep([block.PICK_LANES, len(lanes), *lanes])
        words = program(stage.columns, stage.condition, stage.schema, self.pool)
        assert words is not None, "what does not run inside is a cell of its own"
        blocked = int(runs_in_blocks(words))
        outs = sum(expr.type.words for expr in stage.columns)
        laid = self.heap.keep([block.RUN_PROGRAM, self.keep_program(words), stage.schema.width, outs, blocked])
        self.stages[laid] = stage
        return laid

    def keep_program(self, words) -> int:
        """The address of an expression's program, which may refer to the text pool."""
        at = self.heap.keep(words)
        steps = words[: 1 + int(words[0]) * STEP_WORDS]  # behind them are tables, of any numbers
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
        several = int(self.header.workers) > 1
        # the cells whose rows went out since workers last met, as they do at the head of a loop and where it ends
        since = {cell.number for cell in plan.inputs.values()}
        for part in plan.program:
            if isinstance(part, Begin):
                around.append(part)
                open_.append(len(code))
                code.append([LOOP, 0, masks[part.depth - 1], masks[part.depth]])
                since = set()
            elif isinstance(part, End):
                begin = open_.pop()
                code.append([LOOP_END, begin, 0, 0])
                self.around.append(tuple(around))
                around.pop()
                code[begin][1] = len(code)
                since = set()
            else:
                if several and sends(part, since):
                    code.append([SYNC, 0, 0, 0])
                    since = set()
                a = self.at[part.number]
                a.position = len(code)
                code.append([NODE_AT, a, 0, 0])
                since.add(part.number)
            self.around += [tuple(around)] * (len(code) - len(self.around))
        if several and any(sends(cell, since) for cell in plan.cells):
            code.append([SYNC, 0, 0, 0])
        code.append([STOP, 0, 0, 0])
        self.around += [()] * (len(code) - len(self.around))
        start = self.heap.zeros(Instruction.SIZE * len(code))
        for k, (op, argument, outer, inner) in enumerate(code):
            if op in (LOOP, LOOP_END):
                argument = start + Instruction.SIZE * argument
            self.heap.H[start + 4 * k : start + 4 * k + 4] = (op, argument, outer, inner)
        return start


def lay_table(heap: Heap, a: kinds.Node, keys: int, widths: list[int], width: int = 0, folds: int = 0) -> None:
    """The table of a node, empty: keys so wide, and a family of entries of each width."""
    tb = tables.Table(heap.zeros(tables.Table.SIZE))
    a.table = tb
    tb.keys, tb.families, tb.folds = keys, len(widths), Words(folds)
    tb.record = keys + tables.marks_words(len(widths))
    tb.mask = -1
    tb.sweep_at = 1024
    for i, words in enumerate(widths or [width]):
        tb.widths[i] = words
    resize(heap.header, tb, 16)


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


def coordinates_schema(plan: Plan) -> Schema:
    return Schema(tuple(Field(name, LONG) for name in plan.graph.coordinates))
