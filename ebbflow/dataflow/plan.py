"""Plan: cells and pipes, what the walk runs in place of a graph.

Only what has state, a buffer or a user's function is a cell.  Everything linear between two cells is one pipe: stages
that compute or drop rows, a sign, and what happens to the rounds.

Rule: a plan is data; the sum of the pipes into a cell is the collection that it reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ebbflow.columns.schema import Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.expressions.typed import Column, Expr, substituted
from ebbflow.operators import node as kinds


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
        condition = self.condition if later.condition is None else substituted(later.condition, given)
        columns = tuple(substituted(expr, given) for expr in later.columns)
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
    asked_by: int = -1  # of an arrangement: the node that asked for it first; -1: of other cells
    partition_key: tuple[str, ...] | None = None  # the key columns that decide the worker; None: stays where it is
    local: frozenset[int] = frozenset()  # the pipes (by id) whose rows are on the right worker already
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"Cell({self.number}, kind={self.kind}, node={self.node})"

    @property
    def shown_at(self) -> int:
        """The node at which people are told of its work: an arrangement holds one node's rows at another's asking."""
        return self.node if self.asked_by < 0 else self.asked_by

    def taken(self, graph: Graph) -> Schema:
        """The columns of the rows it absorbs: the key, then what is stored beside it."""
        if self.kind not in (kinds.ARRANGE, kinds.REDUCE, kinds.SETTLE):
            return self.schema
        node = graph.nodes[self.node]
        if isinstance(node, n.Reduce) and self.kind != kinds.ARRANGE:
            source = graph.schemas[node.source]
        else:  # an arrangement may hold what a reduction gives
            source = self.schema
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
