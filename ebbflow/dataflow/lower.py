"""Lowering: a graph of nodes becomes cells and pipes, the plan that the walk runs.

An arrangement of what entered a loop is the arrangement outside; an arrangement of a reduction by its own key is the
reduction's output.

Rule: the sum of the pipes into a cell is the collection its node reads, at every time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebbflow.columns.schema import Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.aggregates import kind_of
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.order import Block, blocks
from ebbflow.dataflow.placement import choose_partition_keys
from ebbflow.dataflow.plan import Begin, Cell, End, Family, Pipe, Plan, Stage
from ebbflow.expressions.typed import Column
from ebbflow.operators import node as kinds
from ebbflow.operators.reduce import answers

MANY_PATHS = 6
MOST_PATHS = 64  # into what reads a union several times, all its sources' paths counted


def lower(graph: Graph, needs_outside: Callable[[Stage], bool], replays_only: bool = False) -> Plan:
    """needs_outside(stage): whether a stage cannot be computed inside the walk; replays_only: for tests, as if times
    were only partly ordered, and every key reduced by replay.
    """
    return _Lowering(graph, needs_outside, replays_only).plan()


class _Lowering:
    def __init__(self, graph: Graph, needs_outside: Callable[[Stage], bool], replays_only: bool):
        self.graph, self.needs_outside, self.replays_only = graph, needs_outside, replays_only
        self.cells: list[Cell] = []
        self.of: dict[int, list[Cell]] = {}  # the cells of a node, in the order of the walk
        self.emitters: dict[int, Cell] = {}  # nodes whose rows come out of a cell
        self.arrangements: dict[tuple[int, tuple[str, ...]], Family] = {}
        self.rotated: dict[int, int] = {}  # arrangements of a loop variable that are left out: the body's reduction
        self.kept_by: dict[int, tuple[str, ...]] = {}  # the bodies that are read so, each by one key
        self.indexed: dict[int, tuple[str, ...]] = {}  # distincts kept by part of their columns
        self.turns: dict[int, tuple[Cell, Cell]] = {}  # joins with such a variable: with its start, with the body
        self.beginnings: set[int] = set()  # cells that arrange only what a variable starts with
        self.path_counts: dict[int, int] = {}
        outputs = [i for i, node in enumerate(graph.nodes) if isinstance(node, n.Output)]
        self.wanted = graph.ancestors(*outputs) if outputs else set()
        self.consumers = [[c for c in found if c in self.wanted] for found in graph.consumers()]
        delays = any(
            isinstance(node, n.Linear) and isinstance(node.action, n.Delay)
            for i, node in enumerate(graph.nodes)
            if i in self.wanted
        )
        self.general = len(graph.coordinates) > 1 or delays or replays_only

    def cell(self, kind: int, node: int, schema: Schema, **fields: Any) -> Cell:
        made = Cell(len(self.cells), kind, node, schema, len(self.graph.scopes[node]), **fields)
        self.cells.append(made)
        self.of.setdefault(node, []).append(made)
        return made

    def plan(self) -> Plan:
        graph = self.graph
        self.find_rotations()
        for i in sorted(self.wanted):
            self.make(i)
        self.turn_joins()
        for i in sorted(self.wanted):
            self.connect(i)
        choose_partition_keys(self.cells)
        inputs = {
            node.name: self.emitters[i]
            for i, node in enumerate(graph.nodes)
            if isinstance(node, n.Input) and i in self.emitters
        }
        outputs = {
            node.name: self.of[i][0]
            for i, node in enumerate(graph.nodes)
            if isinstance(node, n.Output) and i in self.of
        }
        program: list[Cell | Begin | End] = []
        self.emit(blocks(graph), program, 0)
        depth = max((len(scope) for i, scope in enumerate(graph.scopes) if i in self.wanted), default=0)
        return Plan(graph, self.cells, program, inputs, outputs, max(1, depth), self.general, self.replays_only)

    def emit(self, block: Block, program: list[Cell | Begin | End], depth: int) -> None:
        for part in block.parts:
            if isinstance(part, Block):
                inside: list[Cell | Begin | End] = []
                self.emit(part, inside, depth + 1)
                if inside:
                    assert part.loop is not None, "only the whole graph is no loop"
                    program += [Begin(part.loop, depth + 1), *inside, End()]
            else:
                program += [c for c in self.of.get(part, ()) if c.kind not in (kinds.INPUT, kinds.JOIN, kinds.OUTPUT)]

    # ---- cells ------------------------------------------------------------------------------

    def make(self, i: int) -> None:
        graph, node = self.graph, self.graph.nodes[i]
        schema = graph.schemas[i]
        match node:
            case n.Input():
                self.emitters[i] = self.cell(kinds.INPUT, i, schema)
            case n.Output():
                self.cell(kinds.OUTPUT, i, schema)
            case n.Arrange():
                self.arrange(i)
            case n.Join(left, right, columns) if left in self.rotated or right in self.rotated:
                families = self.family(left), self.family(right)
                self.turns[i] = (
                    self.cell(kinds.JOIN, i, schema, left=families[0], right=families[1], columns=columns),
                    self.cell(kinds.JOIN, i, schema, left=families[0], right=families[1], columns=columns),
                )
            case n.Join(left, right, columns):
                self.emitters[i] = self.cell(
                    kinds.JOIN, i, schema, left=self.family(left), right=self.family(right), columns=columns
                )
            case n.Reduce():
                self.emitters[i] = self.reduce(i, node)
            case n.Feedback(_, loop):
                limit = graph.loops[loop].max_rounds
                if (limit is not None and not self.is_left_out(i)) or self.circles(i):
                    self.emitters[i] = settle = self.cell(kinds.SETTLE, i, schema, key=schema.names)
                    settle.limit = limit if graph.loops[loop].on_limit == "raise" else None
                elif len(self.consumers[i]) > 2:
                    self.emitters[i] = self.cell(kinds.PASS, i, schema)
            case n.Linear(_, n.Apply() | n.Inspect()):
                self.outside(i, schema, node.action)
            case n.Linear(_, n.Delay()):
                self.emitters[i] = self.cell(kinds.DELAY, i, schema, action=node.action)
            case n.Linear(_, n.Wait()):
                limit = graph.loops[graph.scopes[i][-1]].max_rounds
                self.emitters[i] = self.cell(kinds.WAIT, i, schema, action=node.action, limit=limit)
            case n.Linear(_, n.Map() | n.Filter()):
                stage = self.stage(i, node)
                if self.needs_outside(stage):
                    self.outside(i, schema, stage)
                elif self.is_gone_too_often(i):
                    self.emitters[i] = self.cell(kinds.PASS, i, schema)
            case n.Concat(sources):
                many = len(self.consumers[i]) > 1 and len(self.consumers[i]) * len(sources) > MANY_PATHS
                if many or self.is_gone_too_often(i):
                    self.emitters[i] = self.cell(kinds.PASS, i, schema)

    def is_gone_too_often(self, i: int) -> bool:
        """Whether a collection is read so often that its pipes, all copied for each reader, would be very many."""
        uses = sum(n.sources_of(self.graph.nodes[c]).count(i) for c in self.consumers[i])
        return uses > 1 and uses * self.count_paths(i) > MOST_PATHS

    def count_paths(self, i: int) -> int:
        """How many pipes make up a collection, around a loop once; what it reads was counted before."""
        if i not in self.path_counts:
            node = self.graph.nodes[i]
            is_linear = isinstance(node, n.Linear | n.Concat | n.Feedback) and i not in self.emitters
            self.path_counts[i] = sum(map(self.count_paths, n.sources_of(node))) if is_linear else 1
        return self.path_counts[i]

    def outside(self, i: int, schema: Schema, action: object) -> None:
        """A cell that asks Python, and the cell that sends on what Python made."""
        source = self.graph.schemas[n.sources_of(self.graph.nodes[i])[0]]
        asks = self.cell(kinds.OUTSIDE, i, source, action=action)
        self.emitters[i] = self.cell(kinds.PASS, i, schema, follows=asks)

    def circles(self, feedback: int) -> bool:
        """Whether the variable comes back to itself through nothing that consolidates."""
        seen, todo = set(), [self.graph.next_of[feedback]]
        while todo:
            i = todo.pop()
            if i == feedback:
                return True
            if i in seen:
                continue
            seen.add(i)
            node = self.graph.nodes[i]
            if isinstance(node, n.Linear | n.Concat):
                todo += n.sources_of(node)
            elif isinstance(node, n.Feedback):
                todo += [node.start, self.graph.next_of[i]]
        return False

    def reduce(self, i: int, node: n.Reduce) -> Cell:
        source = self.graph.schemas[node.source]
        reducer = node.reducer
        values: tuple[str, ...] = tuple(name for name in source.names if name not in node.key)
        match reducer:
            case n.Threshold(None) if i in self.indexed:
                key = self.indexed[i]
                values = tuple(name for name in node.schema.names if name not in key)
                schema = Schema(tuple(Field(name, node.schema[name]) for name in key + values))
                return self.cell(kinds.REDUCE, i, schema, key=key, values=values, op=answers.DISTINCT_BY_VALUE)
            case n.Threshold(None):
                op, values = answers.DISTINCT, ()
            case n.Threshold():
                op, values = answers.USER_FUNCTION, ()
            case n.Aggregates(aggregates):
                values = tuple(dict.fromkeys(name for a in aggregates for name in a.columns))
                if all(a.op == "count_rows" for a in aggregates):
                    op = answers.COUNT_OF_ROWS
                elif all(kind_of(a.op).adds for a in aggregates) and not self.general:
                    op = answers.SUMMED
                else:
                    op = answers.BAGGED
            case n.Top():
                op = answers.TOPPED
            case n.Window():
                op = answers.WINDOWED
            case n.Own():
                op = answers.USER_FUNCTION
        return self.cell(kinds.REDUCE, i, node.schema, key=node.key, values=values, op=op)

    # ---- arrangements -----------------------------------------------------------------------

    def outside_loops(self, i: int) -> int:
        """The collection before it entered: an index of it is an index inside as well."""
        node = self.graph.nodes[i]
        while isinstance(node, n.Linear) and isinstance(node.action, n.Enter):
            i = node.source
            node = self.graph.nodes[i]
        return i

    def arrange(self, i: int) -> None:
        node = self.graph.nodes[i]
        source = self.outside_loops(node.source)
        if (source, node.key) in self.arrangements:
            return
        if i in self.rotated:
            schema = self.graph.schemas[source]
            values = tuple(name for name in schema.names if name not in node.key)
            cell = self.cell(kinds.ARRANGE, source, schema, key=node.key, values=values, asked_by=i)
            cell.notes.append("only what the loop starts with: what it comes to is read from its reduction")
            self.beginnings.add(cell.number)
            self.arrangements[source, node.key] = Family(cell, 0, node.key, values)
            return
        schema = self.graph.schemas[source]
        found = self.graph.nodes[source]
        if isinstance(found, n.Reduce) and found.key == node.key and source not in self.indexed:
            cell = self.emitters[source]
            cell.readers += 1
            cell.notes.append("read as an arrangement by its own key")
            values = tuple(name for name in found.schema.names if name not in found.key)
            self.arrangements[source, node.key] = Family(cell, 1, found.key, values)
            return
        values = tuple(name for name in schema.names if name not in node.key)
        cell = self.cell(kinds.ARRANGE, source, schema, key=node.key, values=values, asked_by=i)
        self.arrangements[source, node.key] = Family(cell, 0, node.key, values)

    def family(self, arrange: int) -> Family:
        node = self.graph.nodes[arrange]
        return self.arrangements[self.outside_loops(node.source), node.key]

    # ---- loops that are read where they are reduced --------------------------------------------

    def find_rotations(self) -> None:
        """Arrangements of a loop variable whose joins can read the reduction at the end of the body instead.

        The variable is its start, and one round later what the body makes, less the start.  A join with something from
        outside the loop is linear, and what is outside has no rounds of the loop: so joining and then going round is
        going round and then joining.
        """
        graph = self.graph
        for i in sorted(self.wanted):
            node = graph.nodes[i]
            if not isinstance(node, n.Arrange) or not isinstance(graph.nodes[node.source], n.Feedback):
                continue
            variable = node.source
            body = graph.next_of[variable]
            if not self.is_kept_by(body, node.key):
                continue
            if self.limit_of(variable) is not None and not self.is_cut_short(i, variable):
                continue
            if all(self.is_joined_outside(i, variable, c) for c in self.consumers[i]):
                self.rotated[i] = body
                self.kept_by[body] = node.key
                if set(graph.nodes[body].key) != set(node.key):
                    self.indexed[body] = node.key

    def is_kept_by(self, body: int, key: tuple[str, ...]) -> bool:
        """Whether the body is a reduction whose answers lie by this key, or can: they lie by one key only."""
        node = self.graph.nodes[body]
        if not isinstance(node, n.Reduce) or self.kept_by.get(body, key) != key:
            return False
        if node.key == key:
            return True
        distinct = node.reducer == n.Threshold(None) and not self.general
        return distinct and set(key) < set(node.key) and len(key) > 0

    def is_joined_outside(self, arrange: int, variable: int, consumer: int) -> bool:
        """Whether a reader is a join, in the variable's own loop, with something from outside of it."""
        join, scopes = self.graph.nodes[consumer], self.graph.scopes
        if not isinstance(join, n.Join) or scopes[consumer] != scopes[variable]:
            return False
        other = join.right if join.left == arrange else join.left
        return len(scopes[self.outside_loops(self.graph.nodes[other].source)]) < len(scopes[variable])

    def is_cut_short(self, arrange: int, variable: int) -> bool:
        """Whether the pipes that lead around a loop of so many rounds see to it that there are no more."""
        returns = self.graph.loops[self.graph.scopes[variable][-1]].on_limit == "return"
        return returns and all(map(self.stays_inside, self.consumers[arrange]))

    def limit_of(self, i: int) -> int | None:
        """How often the body of the innermost loop that a node is in is applied at most."""
        return self.graph.loops[self.graph.scopes[i][-1]].max_rounds

    def stays_inside(self, i: int) -> bool:
        """Whether a collection comes to cells of its own loop alone: a pipe that leaves one, or enters another, does
        not know how many rounds there are.
        """
        for c in self.consumers[i]:
            node = self.graph.nodes[c]
            if isinstance(node, n.Linear) and isinstance(node.action, n.Enter | n.Leave):
                return False
            if isinstance(node, n.Linear | n.Concat) and not self.stays_inside(c):
                return False
        return True

    def is_left_out(self, variable: int) -> bool:
        """Whether nobody reads a loop variable but joins that read the reduction at the end of the body."""
        return all(c in self.rotated for c in self.consumers[variable])

    def turn_joins(self) -> None:
        """Of each such join, the second cell reads the reduction."""
        for i, (_, later) in self.turns.items():
            join = self.graph.nodes[i]
            left = join.left in self.rotated
            arrange = join.left if left else join.right
            cell, key = self.emitters[self.rotated[arrange]], self.graph.nodes[arrange].key
            names = cell.schema.names
            family = Family(cell, 1, key, tuple(name for name in names if name not in key))
            if cell.readers == 0:
                cell.notes.append("read by its own key where the loop begins again")
            cell.readers += 1
            if left:
                later.left = family
            else:
                later.right = family

    # ---- pipes ------------------------------------------------------------------------------

    def connect(self, i: int) -> None:
        node = self.graph.nodes[i]
        for cell in self.of.get(i, ()):
            match cell.kind:
                case kinds.ARRANGE:
                    found = self.beginning(i) if cell.number in self.beginnings else self.paths(i)
                    cell.pipes = [self.into(pipe, self.graph.schemas[i], cell.key + cell.values) for pipe in found]
                case kinds.REDUCE:
                    schema = self.graph.schemas[node.source]
                    cell.pipes = [self.into(pipe, schema, cell.key + cell.values) for pipe in self.paths(node.source)]
                case kinds.OUTPUT | kinds.OUTSIDE | kinds.DELAY | kinds.WAIT:
                    cell.pipes = self.paths(node.source)
                case kinds.SETTLE:
                    cell.pipes = self.around(i)
                case kinds.PASS if cell.follows is None:
                    cell.pipes = self.around(i) if isinstance(node, n.Feedback) else self.through(i)

    def into(self, pipe: Pipe, schema: Schema, names: tuple[str, ...]) -> Pipe:
        """The pipe, ending in these columns."""
        if names == schema.names:
            return pipe
        stage = Stage(schema, None, tuple(Column(name, schema[name]) for name in names))
        return pipe.then(stage, self.fits)

    def paths(self, i: int) -> list[Pipe]:
        """All the pipes that together make up a collection."""
        if i in self.indexed:  # its rows begin with the key
            return [self.into(Pipe(self.emitters[i]), self.emitters[i].schema, self.graph.schemas[i].names)]
        if i in self.emitters:
            return [Pipe(self.emitters[i])]
        if i in self.turns:
            first, later = self.turns[i]
            return [Pipe(first), Pipe(later).rising(len(self.graph.scopes[i]), self.limit_of(i))]
        return self.around(i) if isinstance(self.graph.nodes[i], n.Feedback) else self.through(i)

    def around(self, i: int) -> list[Pipe]:
        """A loop variable: the start, and what the body makes of it one round later, less the start."""
        node = self.graph.nodes[i]
        depth = len(self.graph.scopes[i])
        limit = self.graph.loops[node.loop].max_rounds
        start = self.paths(node.start)
        later = self.paths(self.graph.next_of[i]) + [pipe.negated() for pipe in start]
        return start + [pipe.rising(depth, limit) for pipe in later]

    def beginning(self, i: int) -> list[Pipe]:
        """What a loop variable starts with, which is taken back one round later."""
        start = self.paths(self.graph.nodes[i].start)
        return start + [pipe.negated().rising(len(self.graph.scopes[i]), self.limit_of(i)) for pipe in start]

    def through(self, i: int) -> list[Pipe]:
        node = self.graph.nodes[i]
        match node:
            case n.Concat(sources):
                return [pipe for source in sources for pipe in self.paths(source)]
            case n.Linear(source, n.Negate()):
                return [pipe.negated() for pipe in self.paths(source)]
            case n.Linear(source, n.Enter()):
                return self.paths(source)
            case n.Linear(source, n.Leave()):
                return [pipe.leaving(len(self.graph.scopes[i])) for pipe in self.paths(source)]
            case n.Linear(source, n.Map() | n.Filter()):
                stage = self.stage(i, node)
                return [pipe.then(stage, self.fits) for pipe in self.paths(source)]
        raise AssertionError(node)

    def fits(self, stage: Stage) -> bool:
        return not self.needs_outside(stage)

    def stage(self, i: int, node: n.Linear) -> Stage:
        source = self.graph.schemas[node.source]
        if isinstance(node.action, n.Map):
            return Stage(source, None, tuple(expr for _, expr in node.action.columns), i)
        assert isinstance(node.action, n.Filter)
        return Stage(source, node.action.condition, tuple(Column(f.name, f.type) for f in source), i)
