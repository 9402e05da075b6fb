"""Simplifying: each node put more simply, where one of a list of savings applies to it.

Chains of row-by-row steps become one, and what does not change from round to round is computed outside its loop. A
saving is a function of a node and what it reads; the first that finds something wins.

Rule: a saving never computes twice what costs anything, and refuses nothing that was not refused before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from ebbflow.columns.schema import BOOLEAN
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph, renumbered
from ebbflow.dataflow.rebuild import Mapping, Rebuild, every_column
from ebbflow.expressions.typed import Call, Column, Expr, columns_of, substituted


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
        case n.Linear(source, n.Map(columns)) if columns == every_column(site.graph.schemas[source]):
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
        case n.Linear(source, action) if n.TRAITS[type(action)].keeps_sets:
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


# What can be asked of any row without a refusal: nothing here can overflow.
SAFE = frozenset(
    ("eq", "ne", "lt", "le", "gt", "ge", "eq_null_safe", "and", "or", "not", "is_null", "is_nan", "is_in", "coalesce")
    + ("when", "greatest", "least", "lower", "upper", "length", "contains", "starts_with", "ends_with", "trim", "ltrim")
    + ("rtrim", "like", "year", "month", "day", "hour", "minute", "second", "weekday")
)


def never_refuses(expr: Expr) -> bool:
    return not isinstance(expr, Call) or (expr.op in SAFE and all(map(never_refuses, expr.args)))


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
