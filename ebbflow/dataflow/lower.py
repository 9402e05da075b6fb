"""Lowering: a graph of nodes becomes cells and pipes, the plan that the walk runs.

Only nodes with state, a buffer or a user's function become cells.  Everything linear between two cells is one pipe:
stages that compute or drop rows, a sign, and what happens to the rounds.  An arrangement of what entered a loop is
the arrangement outside; an arrangement of a reduction by its own key is the reduction's output.

Rule: the sum of the pipes into a cell is the collection its node reads, at every time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ebbflow.columns.schema import Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.aggregates import kind_of
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.order import Block, blocks
from ebbflow.expressions.typed import Call, Column, Expr
from ebbflow.operators import node as kinds
from ebbflow.operators.reduce import answers

MANY_PATHS = 6
MOST_PATHS = 64  # into what reads a union several times, all its sources' paths counted


@dataclass(frozen=True)
class Stage:
    """Rows that satisfy the condition become these columns of `schema`."""

    schema: Schema
    condition: Expr | None
    columns: tuple[Expr, ...]
    node: int = field(default=-1, compare=False)  # whose it is, for what is told of it; -1: nobody's

    def as_copy(self) -> tuple[int, ...] | None:
        """The lanes, when the stage only picks lanes."""
        if self.condition is None and all(isinstance(expr, Column) for expr in self.columns):
            return tuple(self.schema.lanes_of(expr.name for expr in self.columns if isinstance(expr, Column)))
        return None

    def hands_on(self) -> bool:
        """Whether every column of the rows that stay is a column as it came."""
        return all(isinstance(expr, Column) for expr in self.columns)

    def followed_by(self, later: Stage) -> Stage:
        """This stage, which hands columns on, and a later one in one; not both have a condition."""
        given = {field.name: self.columns[i] for i, field in enumerate(later.schema)}
        condition = self.condition if later.condition is None else substitute(later.condition, given)
        columns = tuple(substitute(expr, given) for expr in later.columns)
        return Stage(self.schema, condition, columns, max(self.node, later.node))


@dataclass(frozen=True)
class Pipe:
    """What one cell sends to another.  depth: fields of the rounds that stay; rise: depth of the loop gone round, or
    0.
    """

    source: Cell
    stages: tuple[Stage, ...] = ()
    sign: int = 1
    keeps: frozenset[int] | None = None  # depths whose rounds survive; None: all
    rises: tuple[int, ...] = ()  # depths whose round rises by one
    limit: int | None = None

    def then(self, stage: Stage, fits: Callable[[Stage], bool]) -> Pipe:
        """The pipe with one more stage; in one with the last, where that only hands columns on, one condition is enough
        and the two together fit.

        A stage knows its rows by position: what a column is called behind a selection, or behind a filter that took one
        in, is not what it is called before.
        """
        if self.stages and self.stages[-1].hands_on():
            last = self.stages[-1]
            if last.condition is None or (stage.condition is None and fits(last.followed_by(stage))):
                return replace(self, stages=(*self.stages[:-1], last.followed_by(stage)))
        return replace(self, stages=(*self.stages, stage))

    def origin(self, columns: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...] | None:
        """The columns of the source that arrive unchanged as these columns of rows called `names`; None if one does
        not.
        """
        places = [names.index(name) for name in columns]
        for stage in reversed(self.stages):
            exprs = [stage.columns[i] for i in places]
            if not all(isinstance(expr, Column) for expr in exprs):
                return None
            places = [stage.schema.index(expr.name) for expr in exprs if isinstance(expr, Column)]
        return tuple(self.source.schema.names[i] for i in places)

    def negated(self) -> Pipe:
        return replace(self, sign=-self.sign)

    def leaving(self, depth: int) -> Pipe:
        """Only the rounds of the outer `depth` loops stay."""
        keeps = frozenset(d for d in (self.keeps if self.keeps is not None else range(1, 64)) if d <= depth)
        return replace(self, keeps=keeps, rises=tuple(d for d in self.rises if d <= depth))

    def rising(self, depth: int, limit: int | None) -> Pipe:
        return replace(self, rises=(*self.rises, depth), limit=limit)


def substitute(expr: Expr, columns: dict[str, Expr]) -> Expr:
    """The expression with each column replaced by what it is computed from."""
    match expr:
        case Column(name):
            return columns[name]
        case Call(op, args, type, options):
            return Call(op, tuple(substitute(arg, columns) for arg in args), type, options)
    return expr


@dataclass(eq=False)
class Cell:
    """A node of the plan.  `lanes` are the columns of the rows it emits (or absorbs, where it emits the same)."""

    number: int
    kind: int
    node: int
    schema: Schema
    depth: int
    key: tuple[str, ...] = ()  # arrangements and reductions: the key columns
    values: tuple[str, ...] = ()  # and what is stored beside them
    op: int = 0
    pipes: list[Pipe] = field(default_factory=list)
    left: Family | None = None
    right: Family | None = None
    columns: tuple[tuple[str, int, str], ...] = ()
    action: object = None  # a user's function, an outside stage, a delay
    follows: Cell | None = None  # of a cell that Python feeds: the one that asks
    readers: int = 0  # joins that read a reduction's output
    limit: int | None = None
    partition_key: tuple[str, ...] | None = None  # the key columns that decide the worker; None: stays where it is
    local: frozenset[int] = frozenset()  # the pipes (by id) whose rows are on the right worker already
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"Cell({self.number}, kind={self.kind}, node={self.node})"

    def taken(self, graph: Graph) -> Schema:
        """The columns of the rows it absorbs: the key, then what is stored beside it."""
        if self.kind not in (kinds.ARRANGE, kinds.REDUCE, kinds.SETTLE):
            return self.schema
        node = graph.nodes[self.node]
        is_reduced = isinstance(node, n.Reduce) and self.kind != kinds.ARRANGE  # which may hold what a reduction gives
        source = graph.schemas[node.source] if is_reduced else self.schema
        return Schema(tuple(Field(name, source[name]) for name in self.key + self.values))


@dataclass(frozen=True)
class Family:
    """An arrangement to read: a cell, which of its families, and the names of key and value columns there."""

    cell: Cell
    family: int
    key: tuple[str, ...]
    values: tuple[str, ...]

    def lanes(self, column: str) -> list[tuple[bool, int]]:
        """Where the lanes of a column are: whether in the key, and which of the lanes of that, or of the values."""
        is_key = column in self.key
        schema = Schema(tuple(Field(name, self.cell.schema[name]) for name in (self.key if is_key else self.values)))
        return [(is_key, lane) for lane in schema.lanes(column)]


@dataclass(frozen=True)
class Begin:
    loop: int
    depth: int


@dataclass(frozen=True)
class End:
    pass


@dataclass
class Plan:
    """Cells, and the order in which the walk meets them."""

    graph: Graph
    cells: list[Cell]
    program: list[Cell | Begin | End]
    inputs: dict[str, Cell]
    outputs: dict[str, Cell]
    depth: int
    general: bool
    replays_only: bool = False  # for tests: every reduction by the general tactic


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
        self.choose_partition_keys()
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
                if limit is not None or self.circles(i):
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
            case n.Concat(sources):
                uses = sum(n.sources_of(graph.nodes[c]).count(i) for c in self.consumers[i])
                many = len(self.consumers[i]) > 1 and len(self.consumers[i]) * len(sources) > MANY_PATHS
                if many or (uses > 1 and uses * self.count_paths(i) > MOST_PATHS):
                    self.emitters[i] = self.cell(kinds.PASS, i, schema)

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
                    op = answers.COUNTED
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
            cell = self.cell(kinds.ARRANGE, source, schema, key=node.key, values=values)
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
        cell = self.cell(kinds.ARRANGE, source, schema, key=node.key, values=values)
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
            if graph.loops[graph.nodes[variable].loop].max_rounds is not None or not self.is_kept_by(body, node.key):
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
            return [Pipe(first), Pipe(later).rising(len(self.graph.scopes[i]), None)]
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
        return start + [pipe.negated().rising(len(self.graph.scopes[i]), None) for pipe in start]

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

    # ---- placement --------------------------------------------------------------------------

    def choose_partition_keys(self) -> None:
        """Which columns decide the worker of a row, chosen so that few pipes need an exchange."""
        for cell in self.cells:
            if cell.kind in (kinds.ARRANGE, kinds.REDUCE, kinds.SETTLE):
                cell.partition_key = cell.key
        for cell in self.cells:  # an index of a reduction by part of its key: the reduction is placed by that part
            if cell.kind != kinds.ARRANGE:
                continue
            for pipe in cell.pipes:
                origin = pipe.origin(cell.key, cell.key + cell.values)
                reduction = pipe.source
                if (
                    reduction.kind == kinds.REDUCE
                    and reduction.partition_key == reduction.key
                    and not reduction.readers
                ):
                    if origin and set(origin) < set(reduction.key):
                        reduction.partition_key = origin
        for cell in self.cells:
            if cell.kind == kinds.OUTPUT:
                come = {output_partition(pipe, cell.schema.names) for pipe in cell.pipes}
                cell.partition_key = (come.pop() if len(come) == 1 else ()) or cell.schema.names
            local = [pipe for pipe in cell.pipes if is_local(pipe, cell)]
            cell.local = frozenset(map(id, local))
            if local and cell.kind != kinds.OUTPUT:
                cell.notes.append(f"{len(local)} of {len(cell.pipes)} exchanges left out: the rows are there already")


def partitioned_by(cell: Cell) -> tuple[str, ...] | None:
    """The columns of the rows a cell emits by which they are placed on workers, where that is known."""
    if cell.kind in (kinds.REDUCE, kinds.SETTLE):
        return cell.partition_key
    if cell.kind == kinds.JOIN and cell.left is not None and cell.left.cell.partition_key is not None:
        shown = {(side, column): name for name, side, column in cell.columns}
        names = [shown.get((0, column), shown.get((1, other))) for column, other in key_pairs(cell)]
        return tuple(name for name in names if name) if all(names) else None
    return None


def output_partition(pipe: Pipe, names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of rows called `names` by which the pipe's source has placed them; none where that is not known, or
    not all of them are shown.
    """
    origins = [pipe.origin((name,), names) for name in names]
    wanted = [(column,) for column in partitioned_by(pipe.source) or ()]
    return tuple(names[origins.index(column)] for column in wanted) if all(w in origins for w in wanted) else ()


def key_pairs(join: Cell) -> list[tuple[str, str]]:
    """The columns that place a join's two sides: both hash the same values, in the order of the key."""
    assert join.left is not None and join.right is not None
    pairs = dict(zip(join.left.key, join.right.key, strict=True))
    return [(column, pairs[column]) for column in join.left.cell.partition_key or ()]


def is_local(pipe: Pipe, cell: Cell) -> bool:
    """Whether the rows of a pipe are on the right worker already."""
    if cell.partition_key is None:
        return True
    names = cell.key + cell.values if cell.kind in (kinds.ARRANGE, kinds.REDUCE) else cell.schema.names
    origin = pipe.origin(cell.partition_key, names)
    return origin is not None and origin == partitioned_by(pipe.source)
