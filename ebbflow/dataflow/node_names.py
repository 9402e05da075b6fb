"""Node names: what a node is called in errors, in explain's text and in drawings.

All of them call a node the same: by the name that the user gave it, or by what it does.

Rule: a name never decides anything; two nodes with the same name may differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebbflow.dataflow import nodes as n
from ebbflow.expressions.typed import Call, Column, Expr, Literal

if TYPE_CHECKING:
    from ebbflow.dataflow.graph import Graph

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
          "gt": ">", "ge": ">=", "and": "&", "or": "|"}  # fmt: skip


def expression(expr: Expr) -> str:
    """An expression as a person would write it.

    >>> from ebbflow.columns.schema import LONG
    >>> expression(Call("add", (Column("x", LONG), Literal(1, LONG)), LONG))
    'x + 1'
    """
    match expr:
        case Column(name):
            return name
        case Literal(None):
            return "null"
        case Literal(value):
            return repr(value)
        case Call(op, (left, right)) if op in _SIGNS:
            return f"{_within(left)} {_SIGNS[op]} {_within(right)}"
        case Call(op, args, _, options):
            return f"{op}({', '.join([*map(expression, args), *map(repr, options)])})"


def _within(expr: Expr) -> str:
    written = expression(expr)
    return f"({written})" if isinstance(expr, Call) and expr.op in _SIGNS else written


def kind(node: n.Node) -> str:
    """What a node does, in a word or two."""
    match node:
        case n.Input():
            return "input"
        case n.Output():
            return "output"
        case n.Concat():
            return "union"
        case n.Arrange():
            return "arrange"
        case n.Join():
            return "join"
        case n.Feedback():
            return "variable"
        case n.Reduce(_, _, n.Threshold(None)):
            return "distinct"
        case n.Reduce(_, _, n.Threshold()):
            return "threshold"
        case n.Reduce(_, _, n.Aggregates()):
            return "aggregate"
        case n.Reduce(_, _, n.Top()):
            return "top"
        case n.Reduce(_, _, n.Window()):
            return "window"
        case n.Reduce():
            return "reduce"
        case n.Linear(_, n.Map()):
            return "select"
        case n.Linear(_, n.Apply(_, how)):
            return {"batches": "map_batches", "rows": "map_rows", "flat": "flat_map"}.get(how, "apply")
        case n.Linear(_, action):
            return type(action).__name__.lower()
    raise AssertionError(node)


def detail(node: n.Node) -> str:
    """What a node does it with: columns, keys, conditions; empty where there is nothing to say."""
    match node:
        case n.Input(name, schema, key):
            return f"{name} ({schema})" + (f", replaced by {', '.join(key)}" if key else "")
        case n.Output(name, _, changes):
            return name if changes else f"{name}, changes not kept"
        case n.Linear(_, action):
            told = {name: _part(value) for name, value in vars(action).items()}
            return n.TRAITS[type(action)].told.format(**told)
        case n.Feedback(_, loop):
            return f"loop {loop}"
        case n.Arrange(_, key):
            return f"by {', '.join(key)}" if key else "by nothing"
        case n.Join(_, _, columns):
            return ", ".join(_taken(*column) for column in columns)
        case n.Reduce(_, key, reducer):
            return "; ".join(part for part in (_keyed(key, reducer), _answers(reducer)) if part)
    return ""


def _part(value: object) -> str:
    """What a field of an action holds, as people read it."""
    match value:
        case n.Function():
            return value.name
        case Column() | Literal() | Call():
            return expression(value)
        case (str(name), (Column() | Literal() | Call()) as computed):
            return name if expression(computed) == name else f"{name} = {expression(computed)}"
        case tuple():
            return ", ".join(map(_part, value))
    return str(value)


def _taken(name: str, side: int, there: str) -> str:
    if side == 1:
        return f"{name} = right.{there}"
    return name if name == there else f"{name} = left.{there}"


def _keyed(key: tuple[str, ...], reducer: n.Reducer) -> str:
    if isinstance(reducer, n.Threshold):
        return ""
    return f"by {', '.join(key)}" if key else "over all"


def _answers(reducer: n.Reducer) -> str:
    match reducer:
        case n.Aggregates(aggregates):
            return ", ".join(
                f"{a.name} = {'count' if a.op == 'count_rows' else a.op}({', '.join(a.columns)})" for a in aggregates
            )
        case n.Top(number, order):
            return f"first {number} by " + ", ".join(f"-{name}" if down else name for name, down in order)
        case n.Window(order, functions):
            by = ", ".join(("-" if down else "") + name + (" nulls last" if last else "") for name, down, last in order)
            return (f"in the order {by}; " if by else "") + ", ".join(map(_over, functions))
        case n.Own(function) | n.Threshold(n.Function() as function):
            return function.name
    return ""


def _over(function: n.WindowFunction) -> str:
    """A function of a window, as people would write it."""
    given = [function.column or "", *([str(function.number)] if function.number else []), function.default or ""]
    told = f"{function.name} = {function.op}({', '.join(filter(None, given))})"
    if function.skips_nulls:
        told += " ignore nulls"
    frame = function.frame
    if frame is not None:
        start, end = ("unbounded" if x is None else "current" if x == 0 else f"{x:+}" for x in (frame.start, frame.end))
        told += f" over {frame.unit} {start} to {end}"
    return told


def called(graph: Graph, number: int) -> str:
    """A node in a sentence: its name in quotes, or what it does."""
    node = graph.nodes[number]
    if number in graph.names:
        return f'"{graph.names[number]}"'
    match node:
        case n.Input(name) | n.Output(name):
            return f'"{name}"'
        case n.Linear(source, n.Enter() | n.Leave()) | n.Arrange(source):
            return called(graph, source)  # people wrote neither
    return f"the {kind(node)}"


def loop_called(graph: Graph, scope: tuple[int, ...]) -> str:
    """A place in the program: which loops are around it."""
    if not scope:
        return "outside all loops"
    return (
        f"in loop {scope[-1]}" if len(scope) == 1 else f"in loop {scope[-1]} (inside {', '.join(map(str, scope[:-1]))})"
    )
