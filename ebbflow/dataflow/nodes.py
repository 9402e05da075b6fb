"""Node kinds: frozen data, no behaviour.

A node refers to its sources by their number in the graph. Everything that users write is composed of these few kinds;
distinct, count, outer joins, top and iterate have no node of their own. What is asked of every action on rows stands in
one table, which the rewrites, the printers and the oracle read.

Rule: nodes are frozen and compare by content, so that the graph can keep each one once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ebbflow.columns.schema import Schema
from ebbflow.expressions.typed import Expr, columns_of


@dataclass(frozen=True)
class Function:
    """A user's own code.  Compared by identity: two functions are never assumed to mean the same."""

    fn: Callable[..., object] = field(compare=False)
    identity: int  # id(fn): equality of two Functions
    name: str


# ---- what a Linear node does to each change -------------------------------------------------


@dataclass(frozen=True)
class Map:
    """Every row becomes these columns."""

    columns: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True)
class Filter:
    """Rows for which the boolean condition is true (not false, not null) stay."""

    condition: Expr


@dataclass(frozen=True)
class Apply:
    """A user's function over rows.

    how: "batches" fn(dict of numpy/arrow columns) -> dict of arrays of equal length;
         "rows" fn(named tuple) -> tuple;  "flat" fn(named tuple) -> iterable of tuples.
    """

    function: Function
    how: str
    schema: Schema


@dataclass(frozen=True)
class Negate:
    """Diffs change sign."""


@dataclass(frozen=True)
class Enter:
    """Into a loop: one more coordinate, 0."""

    loop: int


@dataclass(frozen=True)
class Wait:
    """Of what has just entered a loop, each row from the round on that this column says; null and less than 0 are 0."""

    column: str


@dataclass(frozen=True)
class Leave:
    """Out of a loop: its coordinate is dropped, which sums all its rounds."""

    loop: int


@dataclass(frozen=True)
class Delay:
    """The time moved later.  One expression per input coordinate, over columns named like the coordinates."""

    times: tuple[Expr, ...]


@dataclass(frozen=True)
class Inspect:
    """Passes everything on, and shows it to a user's function: fn(changes) with a Table."""

    function: Function


Action = Map | Filter | Apply | Negate | Enter | Wait | Leave | Delay | Inspect


@dataclass(frozen=True)
class Traits:
    """What is asked of every action.

    told: what it does it with, of its fields.
    reads: the fields that name columns or compute with them, of an action that gives the columns it takes; None: of one
        that gives others, or that shows whole rows to somebody.
    keeps_sets: whether rows that are there once are there once behind it.
    by_round: whether it gives other rows in other rounds of the innermost loop.
    """

    told: str = ""
    reads: tuple[str, ...] | None = ()
    keeps_sets: bool = False
    by_round: bool = False


TRAITS: dict[type, Traits] = {
    Map: Traits("{columns}", reads=None),
    Filter: Traits("{condition}", reads=("condition",), keeps_sets=True),
    Apply: Traits("{function}", reads=None),
    Negate: Traits(),
    Enter: Traits("loop {loop}", keeps_sets=True),
    Wait: Traits("until {column}", reads=("column",), keeps_sets=True, by_round=True),
    Leave: Traits("loop {loop}", keeps_sets=True),
    Delay: Traits("{times}"),
    Inspect: Traits("{function}", reads=None, keeps_sets=True),
}


def columns_read(action: Action) -> list[str] | None:
    """The columns that an action reads and gives on; None: see `Traits.reads`."""
    named = TRAITS[type(action)].reads
    if named is None:
        return None
    values = [getattr(action, name) for name in named]
    return [name for value in values for name in ([value] if isinstance(value, str) else columns_of(value))]


# ---- what a Reduce node answers for each key ------------------------------------------------


@dataclass(frozen=True)
class Threshold:
    """Key = the whole row.  The count n of a row becomes fn(n); Distinct is n > 0 -> 1, else nothing."""

    function: Function | None = None  # None: distinct


@dataclass(frozen=True)
class Aggregate:
    """op: a kind of the table of aggregates, with its number if it has one: "percentile(0.9)".  `column` is None for
    count_rows; `by` is the second column, of those that have one.
    """

    op: str
    column: str | None
    name: str
    by: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Those it reads."""
        return tuple(name for name in (self.column, self.by) if name is not None)


@dataclass(frozen=True)
class Aggregates:
    """One row per key whose rows sum to a count other than zero: the key, then the aggregates."""

    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True)
class Top:
    """The first n rows of each key (with multiplicity) by `order`: (column, descending) pairs, ties by whole row."""

    n: int
    order: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Own:
    """A user's reduction.  how: "rows" fn([(row, count), ...]) -> rows;  "batches" fn(columns, offsets) -> (columns,
    offsets).
    """

    function: Function
    how: str
    schema: Schema


@dataclass(frozen=True)
class Frame:
    """Which rows around each row a function is over, both ends included; None: to the end of the partition.

    unit: "rows" counts rows, "range" measures the only order column, in its words (days, microseconds, units of a
    decimal's last digit); 0 is the row itself, or the rows that are equal to it in the order.
    """

    unit: str
    start: int | float | None
    end: int | float | None


@dataclass(frozen=True)
class WindowFunction:
    """op: one of `dataflow.windows.FUNCTIONS`.  number: how many rows ahead, which row, how many tiles.

    default: the column of the row itself that stands for a row which is not there.
    """

    op: str
    column: str | None
    name: str
    frame: Frame | None = None
    number: int = 0
    default: str | None = None
    skips_nulls: bool = False


@dataclass(frozen=True)
class Window:
    """Every row of each key, as often as it is there, and what the functions say of it among the others of its key.

    order: (column, whether descending, whether nulls are last), ties by whole row.  Rows whose count is not above zero
    are not there.
    """

    order: tuple[tuple[str, bool, bool], ...]
    functions: tuple[WindowFunction, ...]


Reducer = Threshold | Aggregates | Top | Window | Own


# ---- the nodes ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Input:
    """Rows from outside; or, where `rows` says them, rows that are there from the first time on and never change."""

    name: str
    schema: Schema
    key: tuple[str, ...] = ()  # not empty: rows are replaced by key
    rows: tuple[tuple[object, ...], ...] | None = None


@dataclass(frozen=True)
class Linear:
    source: int
    action: Action


@dataclass(frozen=True)
class Concat:
    """The sum of collections with equal schemas (names and types, in the same order)."""

    sources: tuple[int, ...]


@dataclass(frozen=True)
class Arrange:
    """An index of the source by key columns, shared by all who read it.  Columns stay those of the source."""

    source: int
    key: tuple[str, ...]


@dataclass(frozen=True)
class Join:
    """Pairs of rows with equal, non-null keys.  left and right are Arrange nodes whose keys pair up by position.

    columns: (output name, 0 for the left or 1 for the right, column there)
    """

    left: int
    right: int
    columns: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True)
class Reduce:
    """For each value of the key columns, the reducer's answer.  Output columns: the key, then the reducer's.

    For Threshold the key is every column.  Nulls group together.
    """

    source: int
    key: tuple[str, ...]
    reducer: Reducer
    schema: Schema


@dataclass(frozen=True)
class Feedback:
    """A loop variable: `start` (already entered) at round 0, and the loop's `next` of round i at round i + 1.

    The graph keeps `next` beside the node (graph.next_of), since it is known only after the body was built.
    index tells the variables of one loop apart.
    """

    start: int
    loop: int
    index: int


@dataclass(frozen=True)
class Output:
    name: str
    source: int
    changes: bool = True


Node = Input | Linear | Concat | Arrange | Join | Reduce | Feedback | Output


def sources_of(node: Node) -> tuple[int, ...]:
    """The nodes a node reads, not counting what a Feedback is given later."""
    match node:
        case Input():
            return ()
        case Concat(sources):
            return sources
        case Join(left, right):
            return (left, right)
        case Feedback(start):
            return (start,)
        case Linear(source) | Arrange(source) | Reduce(source) | Output(_, source):
            return (source,)
