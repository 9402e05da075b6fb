"""Where a column comes from, followed back through the plan.

After `a.join(b, on="k", suffix="_b")`, `b.x` is the column "x_b", and "x" is a's.  A column that was taken from a
collection is looked for by where it comes from first, and by its name only where the column of that name was computed
from it, as by `t.with_columns(x=t.x + 1)`.  After an outer join, the key of a side that a row may lack is no column:
the key that is shown has the other side's value there.

Rule: a column of a collection that has no part in this one is refused, never read by accident of its name; so is one
that several columns of this one may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.node_names import kind
from ebbflow.errors import UnknownColumn
from ebbflow.expressions import ast as w
from ebbflow.expressions.operations import common_type
from ebbflow.expressions.resolve import resolve
from ebbflow.expressions.typed import Call, Expr, columns_of
from ebbflow.expressions.typed import Column as Read
from ebbflow.frontend.building.tracing import Row, traced


def called(graph: Graph, node: int) -> str:
    """A collection in a sentence: edges; the result of join."""
    at = node
    while at not in graph.names:
        match graph.nodes[at]:
            case n.Linear(source, n.Enter() | n.Leave()):
                at = source
            case n.Concat() if at in graph.outer_joins:  # made of an inner join, and of the rows that it leaves out
                return "the result of join"
            case other:
                return f"the result of {kind(other)}"
    return graph.names[at]


def row_of(graph: Graph, node: int, verb: str, side: str = "") -> Row:
    """What a lambda over this collection is given."""
    where = f"on its {side} side, {called(graph, node)}" if side else f"in {called(graph, node)}"
    return Row(graph.schemas[node], lambda name: f'{verb} looks for the column "{name}" {where}', node)


def resolved(graph: Graph, node: int, tree: w.Ast, verb: str) -> Expr:
    """The expression on this collection, typed."""
    return resolve(_placed(graph, node, tree, verb), graph.schemas[node], verb, called(graph, node), graph.ansi)


def _placed(graph: Graph, node: int, tree: w.Ast, verb: str) -> w.Ast:
    """Every column under the name it has here, and lambdas as what they compute."""
    match tree:
        case w.Traced(fn):
            return _placed(graph, node, traced(fn, row_of(graph, node, verb), verb).tree, verb)
        case w.Named(name, owner) if owner is not None and owner != node:
            return w.Named(name_here(graph, node, name, owner, verb))
        case w.Applied(op, args, options):
            return w.Applied(op, tuple(_placed(graph, node, arg, verb) for arg in args), options)
    return tree


def name_here(graph: Graph, node: int, name: str, owner: int, verb: str) -> str:
    """What a column of another collection is called in this one."""
    if owner not in graph.ancestors(node):
        raise UnknownColumn(
            f'{verb} uses the column "{name}" of {called(graph, owner)}, which has no part in {called(graph, node)}.',
            hint=f'Join the two first; a column of {called(graph, node)} is col("{name}").',
        )
    names = graph.schemas[node].names
    found = [here for here in names if (owner, name) in _origins(graph, node, here)]
    if name in found:
        return name  # its own name first
    if len(found) > 1:  # of a join with itself, or a union of columns that have changed places
        raise UnknownColumn(
            f'{verb} uses the column "{name}" of {called(graph, owner)}, and in {called(graph, node)} '
            f"several columns may be it: {', '.join(found)}.",
            hint=f'Say which one is meant: col("{found[0]}").',
        )
    if found:
        return found[0]
    if name in names and not _is_computed_from(graph, node, name, owner):
        raise UnknownColumn(
            f'{verb} uses the column "{name}" of {called(graph, owner)}, which is not there any more; the "{name}" of'
            f" {called(graph, node)} is another column.",
            hint=f'If that one is meant, write col("{name}"); else keep the column, under a name of its own.',
        )
    return name


def _is_computed_from(graph: Graph, node: int, name: str, owner: int) -> bool:
    """Whether a column was computed from the one of its name, which then stands for the new value: x = t.x + 1."""
    return (owner, name) in _origins(graph, node, name, _computed_from)


def _computed_from(graph: Graph, node: int, name: str) -> list[tuple[int, str]]:
    """The columns that a column is a copy of, or computed from by an expression or an aggregate."""
    match graph.nodes[node]:
        case n.Linear(source, n.Map(columns)):
            return [(source, read) for read in columns_of(dict(columns)[name])]
        case n.Reduce(source, key, n.Aggregates(parts)) if name not in key:
            return [(source, part.column) for part in parts if part.name == name and part.column is not None]
        case n.Reduce(source, _, n.Window(_, functions)) if name not in graph.schemas[source]:
            return [(source, each.column) for each in functions if each.name == name and each.column is not None]
    return _copied_from(graph, node, name)


def _origins(
    graph: Graph, node: int, name: str, step: Callable[[Graph, int, str], list[tuple[int, str]]] | None = None
) -> Iterator[tuple[int, str]]:
    """The column and every column it is a plain copy of, back to the inputs; or what another step leads to."""
    todo, seen = [(node, name)], set()
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            yield at
            todo += (step or _copied_from)(graph, *at)


def _copied_from(graph: Graph, node: int, name: str) -> list[tuple[int, str]]:
    if node in graph.outer_joins:
        return graph.outer_joins[node][name]
    match graph.nodes[node]:
        case n.Linear(source, n.Map(columns)):
            read = _handed_on(dict(columns)[name])
            return [(source, read.name)] if read is not None else []
        case n.Linear(_, n.Apply()) | n.Input():
            return []
        case n.Join(left, right, columns):
            copied = [((left, right)[side], there) for shown, side, there in columns if shown == name]
            return copied + [partner for at in copied for partner in _partners(graph, left, right, *at)]
        case n.Reduce(source, key, reducer):
            kept = name in key or isinstance(reducer, n.Top)
            if isinstance(reducer, n.Window):
                kept = name in graph.schemas[source]
            return [(source, name)] if kept else []
        case _:
            return [(source, name) for source in graph.reads(node)]  # of a loop's variable: its next round, too


def _handed_on(expr: Expr) -> Read | None:
    """The column whose values an expression has, as they are or in a wider type, which a union may need."""
    match expr:
        case Call("cast", (Read() as read,)) if common_type([read.type, expr.type]) == expr.type:
            return read
        case Read():
            return expr
    return None


def _partners(graph: Graph, left: int, right: int, side: int, column: str) -> list[tuple[int, str]]:
    """The keys of a join's other side that equal this column."""
    one, two = graph.nodes[left], graph.nodes[right]
    if not isinstance(one, n.Arrange) or not isinstance(two, n.Arrange):
        return []
    pairs = [((left, mine), (right, theirs)) for mine, theirs in zip(one.key, two.key)]
    pairs += [(theirs, mine) for mine, theirs in pairs]
    return [partner for at, partner in pairs if at == (side, column)]
