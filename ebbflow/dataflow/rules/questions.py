"""What the rules ask of a graph, and how they speak of its nodes.

Rule: a question is answered for a graph that breaks rules too; it never raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from ebbflow.columns.schema import Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.node_names import called, kind, loop_called
from ebbflow.dataflow.rules.rule import Breaches
from ebbflow.errors import PlanError
from ebbflow.expressions.typed import Call, Column, Expr, Literal

Sort = TypeVar("Sort")


def key_of(graph: Graph, number: int) -> tuple[str, ...] | None:
    """The key by which a node is arranged; an arrangement stays one when it enters a loop."""
    match graph.nodes[number]:
        case n.Arrange(_, key):
            return key
        case n.Linear(source, n.Enter()):
            return key_of(graph, source)
    return None


def of_sort(graph: Graph, sort: type[Sort]) -> list[tuple[int, Sort]]:
    return [(number, node) for number, node in enumerate(graph.nodes) if isinstance(node, sort)]


def linear(graph: Graph, sort: type) -> list[tuple[int, n.Linear]]:
    return [(number, node) for number, node in of_sort(graph, n.Linear) if isinstance(node.action, sort)]


def borders(graph: Graph, sort: type) -> list[tuple[int, n.Linear, int, int]]:
    return [(number, node, node.source, node.action.loop) for number, node in linear(graph, sort)]  # type: ignore[union-attr]


def together(graph: Graph, number: int, what: str, sources: Iterable[int]) -> Breaches:
    first, *others = sources
    for other in others:
        one, two = graph.scopes[first], graph.scopes[other]
        if one != two:
            inner, outer = (first, other) if len(one) > len(two) else (other, first)
            yield PlanError(
                f"{what} mixes collections from different loops: {called(graph, first)} is {loop_called(graph, one)},"
                f" {called(graph, other)} is {loop_called(graph, two)}.",
                at=graph.places[number],
                hint=f"Bring {called(graph, outer)} inside, or use {called(graph, inner)} after its loop.",
            )


def around(graph: Graph, loop: int | None) -> tuple[int, ...] | None:
    """The loops from the outermost to `loop`; None where there is no such chain."""
    chain: list[int] = []
    while loop is not None:
        if not 0 <= loop < len(graph.loops):
            return None
        chain.append(loop)
        loop = graph.loops[loop].parent
    return tuple(reversed(chain))


def reads(graph: Graph, node: n.Node) -> Iterator[tuple[int, str, Type | None]]:
    """(node read, column, type it is taken for or None) of everything a node reads by name."""
    match node:
        case n.Linear(source, n.Map(columns)):
            for _, expr in columns:
                yield from ((source, column.name, column.type) for column in columns_in(expr))
        case n.Linear(source, n.Filter(condition)):
            yield from ((source, column.name, column.type) for column in columns_in(condition))
        case n.Arrange(source, key):
            yield from ((source, name, None) for name in key)
        case n.Join(left, right, columns):
            for _, side, name in columns:
                yield (left, right)[side], name, None
        case n.Reduce(source, key, reducer):
            yield from ((source, name, None) for name in key)
            match reducer:
                case n.Aggregates(aggregates):
                    yield from ((source, name, None) for each in aggregates for name in each.columns)
                case n.Top(_, order):
                    yield from ((source, name, None) for name, _ in order)
                case n.Window(order, functions):
                    yield from ((source, name, None) for name, _, _ in order)
                    read = (name for each in functions for name in (each.column, each.default))
                    yield from ((source, name, None) for name in read if name is not None)


def columns_in(expr: Expr) -> Iterator[Column]:
    match expr:
        case Column():
            yield expr
        case Call(_, args):
            for arg in args:
                yield from columns_in(arg)


def goes_back(time: Expr, coordinate: str) -> bool:
    """Whether the plan itself shows it: the coordinate less something, or plus something below zero."""
    match time:
        case Call("sub", (Column(name), Literal(int() as by))):
            return name == coordinate and by > 0
        case Call("add", (Column(name), Literal(int() as by))) | Call("add", (Literal(int() as by), Column(name))):
            return name == coordinate and by < 0
    return False


def subject(graph: Graph, number: int) -> str:
    """A node as the subject of a sentence."""
    if number in graph.names:
        return f'{kind(graph.nodes[number])} "{graph.names[number]}"'
    node = graph.nodes[number]
    if isinstance(node, n.Input | n.Output):
        return f'The {kind(node)} "{node.name}"'
    return f"A {kind(node)}" if kind(node)[0] not in "aeiou" else f"An {kind(node)}"


def lies(graph: Graph, number: int) -> str:
    return loop_called(graph, graph.scopes[number]) if 0 <= number < len(graph.scopes) else "nowhere"


def counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
