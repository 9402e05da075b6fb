"""Rewriting: a graph that means the same and does less.

Each rewrite is a small function that knows one saving: work that nobody asks for is left out, chains of row-by-row
steps become one, what does not change from round to round is computed outside its loop, and arrangements carry only
the columns that someone reads.  They are repeated until none finds anything more.

Rule: at every time, every output is what it was.  A rewrite may refuse less (an overflow in a column that nobody
reads is never computed) but never more, and it never computes twice what costs anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from ebbflow.columns.schema import BOOLEAN, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph, renumbered
from ebbflow.expressions.resolve import nested_too_deep
from ebbflow.expressions.typed import Call, Column, Expr, columns_of

Mapping = dict[int, int]

PASSES = 20  # more than any chain of savings has needed; each pass leaves a graph that means the same


def rewrite(graph: Graph) -> tuple[Graph, Mapping]:
    """The graph to run, and the new number of each node that is still there.

    A node may have come to carry fewer columns; inputs and outputs are all there, unchanged.
    """
    moved = {number: number for number in range(len(graph.nodes))}
    for _ in range(PASSES):
        before = graph
        for step in (needed_only, simplified, narrowed):
            try:
                graph, renumbering = step(graph)
            except RecursionError:
                raise nested_too_deep() from None
            moved = {old: renumbering[new] for old, new in moved.items() if new in renumbering}
        if graph.nodes == before.nodes and graph.next_of == before.next_of:
            break
    return graph, moved


@dataclass
class Rebuild:
    """A graph made anew from an old one, node by node, in order."""

    old: Graph
    new: Graph = field(init=False)
    moved: Mapping = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.new = Graph(self.old.coordinates)
        self.new.loops = list(self.old.loops)

    def put(self, number: int, node: n.Node | int) -> None:
        """Let old node `number` become a node, or one that is there."""
        self.moved[number] = found = node if isinstance(node, int) else self.add(number, node)
        if number in self.old.names:
            self.new.names.setdefault(found, self.old.names[number])

    def add(self, number: int, node: n.Node) -> int:
        """Add a node on behalf of old node `number`."""
        return self.new.add(node, self.old.places[number])

    def done(self) -> tuple[Graph, Mapping]:
        for variable, following in self.old.next_of.items():
            if variable in self.moved:
                self.new.next_of[self.moved[variable]] = self.moved[following]
        return self.new, self.moved


# ---- what nobody asks for -------------------------------------------------------------------


def needed_only(graph: Graph) -> tuple[Graph, Mapping]:
    """Without the nodes that no output and no inspection needs.  Inputs stay: people feed them by name."""
    roots = [number for number, node in enumerate(graph.nodes) if _is_root(node)]
    rebuild = Rebuild(graph)
    for number in sorted(graph.ancestors(*roots)):
        rebuild.put(number, renumbered(graph.nodes[number], rebuild.moved))
    return rebuild.done()


def _is_root(node: n.Node) -> bool:
    match node:
        case n.Input() | n.Output() | n.Linear(_, n.Inspect()):
            return True
    return False


# ---- simpler nodes --------------------------------------------------------------------------


@dataclass(frozen=True)
class Site:
    """A node where something might be saved, and the graph so far; `alone`: nobody else reads its sources."""

    graph: Graph
    node: n.Node
    alone: bool
    add: Callable[[n.Node], int]

    def source(self) -> n.Node:
        return self.graph.nodes[n.sources_of(self.node)[0]]


Saving = Callable[[Site], "n.Node | int | None"]  # what to put in the node's place; None: nothing to save

SAVINGS: list[Saving] = []


def saving(find: Saving) -> Saving:
    SAVINGS.append(find)
    return find


def simplified(graph: Graph) -> tuple[Graph, Mapping]:
    """Every node put more simply, by the first saving that applies to it."""
    rebuild, readers = Rebuild(graph), graph.consumers()
    for number, node in enumerate(graph.nodes):
        alone = all(len(readers[source]) == 1 for source in n.sources_of(node))
        here = renumbered(node, rebuild.moved)
        site = Site(rebuild.new, here, alone, partial(rebuild.add, number))
        found = (find(site) for find in SAVINGS)
        rebuild.put(number, next((simpler for simpler in found if simpler is not None), here))
    return rebuild.done()


@saving
def twice_negated(site: Site) -> int | None:
    """-(-x) is x."""
    match site.node:
        case n.Linear(_, n.Negate()):
            match site.source():
                case n.Linear(inner, n.Negate()):
                    return inner
    return None


@saving
def nothing_selected(site: Site) -> int | None:
    """Selecting all the columns in their order changes nothing."""
    match site.node:
        case n.Linear(source, n.Map(columns)) if columns == _selection(site.graph.schemas[source]):
            return source
    return None


@saving
def there_and_back(site: Site) -> int | None:
    """What enters a loop and leaves it again is what it was."""
    match site.node:
        case n.Linear(_, n.Leave(loop)):
            match site.source():
                case n.Linear(inner, n.Enter(entered)) if entered == loop:
                    return inner
    return None


@saving
def flattened(site: Site) -> n.Node | int | None:
    """A union of unions is one union, and of one collection that collection."""
    if not isinstance(site.node, n.Concat):
        return None
    if len(site.node.sources) == 1:
        return site.node.sources[0]
    parts: list[int] = []
    for source in site.node.sources:
        inner = site.graph.nodes[source]
        once = site.alone and site.node.sources.count(source) == 1  # else its parts would be read several times
        parts += inner.sources if isinstance(inner, n.Concat) and once else (source,)
    return n.Concat(tuple(parts)) if len(parts) > len(site.node.sources) else None


@saving
def already_distinct(site: Site) -> int | None:
    """Distinct of a set is that set."""
    match site.node:
        case n.Reduce(source, _, n.Threshold(None)) if is_set(site.graph, source):
            return source
    return None


def is_set(graph: Graph, number: int) -> bool:
    """Whether a collection never holds a row other than once."""
    match graph.nodes[number]:
        case n.Reduce(_, _, n.Threshold(None) | n.Aggregates()):
            return True
        case n.Linear(source, n.Filter() | n.Enter() | n.Wait() | n.Leave() | n.Inspect()):
            return is_set(graph, source)
    return False


@saving
def map_of_map(site: Site) -> n.Node | None:
    """Two selections become one, unless that would compute something twice."""
    match site.node:
        case n.Linear(_, n.Map(outer)):
            match site.source():
                case n.Linear(inner, n.Map(columns)) if site.alone or all(_is_plain(expr) for _, expr in columns):
                    given = dict(columns)
                    uses = [name for _, expr in outer for name in _uses(expr)]
                    if all(_is_plain(given[name]) or uses.count(name) == 1 for name in uses):
                        return n.Linear(inner, n.Map(tuple((name, substituted(expr, given)) for name, expr in outer)))
    return None


@saving
def selection_of_join(site: Site) -> n.Node | None:
    """A join that only this selection reads gives those columns itself, under their new names."""
    match site.node:
        case n.Linear(_, n.Map(columns)) if site.alone and columns and all(isinstance(e, Column) for _, e in columns):
            match site.source():
                case n.Join(left, right, taken):
                    place = {name: (side, there) for name, side, there in taken}
                    return n.Join(left, right, tuple((name, *place[str(expr)]) for name, expr in columns))
    return None


@saving
def filter_before_map(site: Site) -> n.Node | None:
    """Rows are chosen before they are computed, where the choice reads columns that were only handed on."""
    match site.node:
        case n.Linear(_, n.Filter(condition)) if site.alone:
            match site.source():
                case n.Linear(inner, n.Map(columns)):
                    given = dict(columns)
                    if all(_is_plain(given[name]) for name in columns_of(condition)):
                        chosen = site.add(n.Linear(inner, n.Filter(substituted(condition, given))))
                        return n.Linear(chosen, n.Map(columns))
    return None


@saving
def filter_of_filter(site: Site) -> n.Node | None:
    """Two conditions become one, if the second can be asked of the rows that the first leaves out."""
    match site.node:
        case n.Linear(_, n.Filter(second)) if site.alone and never_refuses(second):
            match site.source():
                case n.Linear(inner, n.Filter(first)):
                    return n.Linear(inner, n.Filter(Call("and", (first, second), BOOLEAN)))
    return None


@saving
def out_of_the_loop(site: Site) -> n.Node | None:
    """What is computed only from collections that entered a loop is the same in every round: compute it, then enter.

    A join takes the arrangements of its sides along.  An inspection stays, since it shows times.
    """
    match site.node:
        case n.Linear(source, n.Map() | n.Filter() | n.Apply() | n.Negate()) | n.Reduce(source):
            entered = _entered(site.graph, [source])
        case n.Concat(sources):
            entered = _entered(site.graph, sources)
        case n.Join(left, right):
            sides = [side for side in (site.graph.nodes[left], site.graph.nodes[right]) if isinstance(side, n.Arrange)]
            entered = _entered(site.graph, [side.source for side in sides]) if len(sides) == 2 else None
            if entered is not None:
                arranged = [n.Arrange(outer, side.key) for side, outer in zip(sides, entered[1], strict=True)]
                entered = entered[0], [site.add(side) for side in arranged]
        case _:
            return None
    if entered is None:
        return None
    loop, outside = entered
    outer = dict(zip(n.sources_of(site.node), outside, strict=True))  # a join of one arrangement with itself has one
    return n.Linear(site.add(renumbered(site.node, outer)), n.Enter(loop))


def _entered(graph: Graph, numbers: Iterable[int]) -> tuple[int, list[int]] | None:
    """The loop that all of these have just entered, and what they were outside."""
    loops, outside = set(), []
    for number in numbers:
        match graph.nodes[number]:
            case n.Linear(source, n.Enter(loop)):
                loops.add(loop)
                outside.append(source)
            case _:
                return None
    return (loops.pop(), outside) if len(loops) == 1 else None


# ---- fewer columns --------------------------------------------------------------------------


def narrowed(graph: Graph) -> tuple[Graph, Mapping]:
    """Arrangements, joins and aggregates with only the columns that someone reads after them."""
    wanted = columns_read(graph)
    rebuild = Rebuild(graph)
    for number, node in enumerate(graph.nodes):
        rebuild.put(number, _narrow(rebuild, number, node, wanted))
    return rebuild.done()


def columns_read(graph: Graph) -> list[tuple[str, ...]]:
    """For each node the columns that are read of it, in their order; never none, since a row needs a column."""
    read: list[set[str]] = [set() for _ in graph.nodes]
    for following in graph.next_of.values():
        read[following].update(graph.schemas[following].names)
    for number in reversed(range(len(graph.nodes))):
        names = graph.schemas[number].names
        read[number] &= set(names)
        if not read[number] or isinstance(graph.nodes[number], n.Output | n.Feedback):
            read[number] = set(names) if isinstance(graph.nodes[number], n.Output | n.Feedback) else set(names[:1])
        _ask_sources(graph, number, read)
    return [tuple(name for name in graph.schemas[i].names if name in asked) for i, asked in enumerate(read)]


def _ask_sources(graph: Graph, number: int, read: list[set[str]]) -> None:
    """Note what a node, of which `read[number]` is read, reads itself."""
    mine = read[number]
    match graph.nodes[number]:
        case n.Linear(source, n.Map(columns)):
            read[source].update(used for name, expr in columns if name in mine for used in columns_of(expr))
        case n.Linear(source, n.Filter(condition)):
            read[source].update(mine, columns_of(condition))
        case n.Linear(source, n.Negate() | n.Enter() | n.Leave() | n.Delay()):
            read[source].update(mine)
        case n.Linear(source, n.Wait(column)):
            read[source].update(mine, [column])
        case n.Concat(sources):
            for source in sources:
                read[source].update(mine)
        case n.Arrange(source, key):
            mine.update(key)
            read[source].update(mine)
        case n.Join(left, right, columns):
            for name, side, there in columns:
                if name in mine:
                    read[(left, right)[side]].add(there)
        case n.Reduce(source, key, n.Aggregates(aggregates)):
            read[source].update(key, (name for each in _kept(aggregates, mine) for name in each.columns))
        case node:  # a user's function, a whole row, an output: all there is
            for source in n.sources_of(node):
                read[source].update(graph.schemas[source].names)


def _narrow(rebuild: Rebuild, number: int, node: n.Node, wanted: list[tuple[str, ...]]) -> n.Node:
    mine, here = wanted[number], renumbered(node, rebuild.moved)
    match here:
        case n.Linear(source, n.Map(columns)):
            return n.Linear(source, n.Map(tuple((name, expr) for name, expr in columns if name in mine)))
        case n.Join(left, right, columns):
            return n.Join(left, right, tuple(column for column in columns if column[0] in mine))
        case n.Concat(sources):
            return n.Concat(tuple(_only(rebuild, number, source, mine) for source in sources))
        case n.Arrange(source, key):
            if _answers_by(rebuild.new.nodes[source], key):
                return here
            return n.Arrange(_only(rebuild, number, source, mine), key)
        case n.Reduce(source, key, n.Aggregates(aggregates), schema):
            kept = _kept(aggregates, mine)
            asked = {*key, *(name for each in kept for name in each.columns)}
            names = [name for name in rebuild.new.schemas[source].names if name in asked]
            fields = schema.fields[: len(key)] + tuple(schema.fields[schema.index(each.name)] for each in kept)
            return n.Reduce(_only(rebuild, number, source, names), key, n.Aggregates(kept), Schema(fields))
    return here


def _kept(aggregates: tuple[n.Aggregate, ...], names: Iterable[str]) -> tuple[n.Aggregate, ...]:
    """The aggregates that are read, and at least one: a group is there even if nobody asks what it holds."""
    return tuple(each for each in aggregates if each.name in names) or aggregates[:1]


def _answers_by(node: n.Node, key: tuple[str, ...]) -> bool:
    """Whether a reduce gives its answers by this very key: they are arranged as they stand."""
    return isinstance(node, n.Reduce) and set(node.key) == set(key)


def _only(rebuild: Rebuild, number: int, source: int, names: Iterable[str]) -> int:
    """A new node cut down to these columns."""
    schema = rebuild.new.schemas[source]
    columns = tuple((name, Column(name, schema[name])) for name in names)
    if not columns or columns == _selection(schema):
        return source
    return rebuild.add(number, n.Linear(source, n.Map(columns)))


# ---- expressions ----------------------------------------------------------------------------

# What can be asked of any row without a refusal: nothing here can overflow.
SAFE = frozenset(
    ("eq", "ne", "lt", "le", "gt", "ge", "eq_null_safe", "and", "or", "not", "is_null", "is_nan", "is_in", "coalesce")
    + ("when", "greatest", "least", "lower", "upper", "length", "contains", "starts_with", "ends_with", "trim", "ltrim")
    + ("rtrim", "like", "year", "month", "day", "hour", "minute", "second", "weekday")
)


def never_refuses(expr: Expr) -> bool:
    return not isinstance(expr, Call) or (expr.op in SAFE and all(map(never_refuses, expr.args)))


def substituted(expr: Expr, given: dict[str, Expr]) -> Expr:
    """The expression with each column replaced by what it is computed from."""
    match expr:
        case Column(name):
            return given[name]
        case Call(_, args):
            return replace(expr, args=tuple(substituted(arg, given) for arg in args))
    return expr


def _is_plain(expr: Expr) -> bool:
    """A column or a constant: nothing to compute."""
    return not isinstance(expr, Call)


def _uses(expr: Expr) -> list[str]:
    """The columns an expression reads, each as often as it does."""
    match expr:
        case Column(name):
            return [name]
        case Call(_, args):
            return [name for arg in args for name in _uses(arg)]
    return []


def _selection(schema: Schema) -> tuple[tuple[str, Expr], ...]:
    """All the columns in their order, as a selection."""
    return tuple((each.name, Column(each.name, each.type)) for each in schema)
