"""Text predicates: columns of text that a program only tests with `like` and its relatives, replaced by the results.

A text that is only tested need not be stored in the text pool: the input computes the results when it takes the row.
Where all uses of an input's column are such tests, the column becomes a column of their results, one bit for each.

Rule: the graph means the same if the results are fed in place of the text of each such column.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ebbflow.columns.schema import BOOLEAN, LONG, STRING, Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph, renumbered
from ebbflow.dataflow.rebuild import Rebuild
from ebbflow.expressions.typed import Call, Column, Expr, Literal

ASKED = ("like", "contains", "starts_with", "ends_with")
MOST_QUESTIONS = 32  # questions about one column: each is a bit of its word

TextPredicates = dict[str, dict[int, tuple[Call, ...]]]  # by input, and by the place of the column in its rows
Raw = dict[int, str]  # the nodes that hand on the text itself, and how the column is called there


def find_text_predicates(graph: Graph) -> tuple[Graph, TextPredicates]:
    """The graph that takes answers in place of text, and what is to be answered: a bit for each question."""
    found: TextPredicates = {}
    for number, node in enumerate(graph.nodes):
        if isinstance(node, n.Input) and not node.key:
            for i, field in enumerate(node.schema):
                asked = _asked(graph, number, field.name) if field.type == STRING else None
                if asked is not None:
                    raw, calls = asked
                    graph = _answered(graph, raw, calls)
                    found.setdefault(node.name, {})[i] = calls
    return graph, found


def _asked(graph: Graph, source: int, name: str) -> tuple[Raw, tuple[Call, ...]] | None:
    """Who hands on the text of a column, and all that is asked of it; None if more is done with it, or nothing."""
    raw: Raw = {source: name}
    calls: dict[Call, None] = {}
    readers = graph.consumers()
    following = set(graph.next_of.values())
    todo = [source]
    while todo:
        number = todo.pop()
        here = raw[number]
        if number in following:
            return None
        for reader in readers[number]:
            match graph.nodes[reader]:
                case n.Linear(_, n.Filter(condition)):
                    exprs, kept = [condition], [here]
                case n.Linear(_, n.Map(columns)):
                    exprs = [expr for _, expr in columns if not isinstance(expr, Column)]
                    kept = [out for out, expr in columns if isinstance(expr, Column) and expr.name == here]
                case n.Linear(_, n.Negate()):
                    exprs, kept = [], [here]
                case _:
                    return None
            if len(kept) > 1 or not all(_only_asks(expr, here, name, calls) for expr in exprs):
                return None
            if kept:
                raw[reader] = kept[0]
                todo.append(reader)
    if not calls or len(calls) > MOST_QUESTIONS:
        return None
    return raw, tuple(calls)


def _only_asks(expr: Expr, here: str, name: str, calls: dict[Call, None]) -> bool:
    """Whether an expression asks of a column only what can be answered; the questions are noted."""
    match expr:
        case Column(column):
            return column != here
        case Call("is_null", (Column(),)):
            return True
        case Call(op, (Column(column, type_), Literal(value))) if op in ASKED and column == here:
            if isinstance(value, str):
                calls.setdefault(replace(expr, args=(Column(name, type_), expr.args[1])))
            return isinstance(value, str)
        case Call(_, args):
            return all(_only_asks(arg, here, name, calls) for arg in args)
    return True


def _answered(graph: Graph, raw: Raw, calls: tuple[Call, ...]) -> Graph:
    """The same graph where answers are fed in place of the text, and called by what is asked."""
    (source, name), type_ = next(iter(raw.items())), BOOLEAN if len(calls) == 1 else LONG
    title = ", ".join(map(str, calls))
    called = {source: title if title not in graph.schemas[source] else name}
    rebuild = Rebuild(graph)
    for number, node in enumerate(graph.nodes):
        here = renumbered(node, rebuild.moved)
        if number == source and isinstance(here, n.Input):
            fields = [Field(called[source], type_) if f.name == name else f for f in here.schema]
            here = replace(here, schema=Schema(tuple(fields)))
        elif isinstance(node, n.Linear) and node.source in raw:
            answers = _Answers(raw[node.source], name, Column(called[node.source], type_), calls)
            called[number] = answers.column.name
            match here:
                case n.Linear(below, n.Filter(condition)):
                    here = n.Linear(below, n.Filter(answers.told(condition)))
                case n.Linear(below, n.Map(columns)):
                    here = n.Linear(below, n.Map(tuple((out, answers.told(expr)) for out, expr in columns)))
                    called[number] = raw.get(number, name)
        rebuild.put(number, here)
    return rebuild.done()[0]


class _Answers(NamedTuple):
    """What a column of text was called, there and at its input, and the column of answers in its place."""

    here: str
    name: str
    column: Column
    calls: tuple[Call, ...]

    def told(self, expr: Expr) -> Expr:
        """An expression over the answers: one is the column itself, of several each is a bit."""
        match expr:
            case Column(column):
                return self.column if column == self.here else expr
            case Call(op, (Column(column, kind), Literal())) if op in ASKED and column == self.here:
                if len(self.calls) == 1:
                    return self.column
                bit = self.calls.index(replace(expr, args=(Column(self.name, kind), expr.args[1])))
                shifted = Call("floordiv", (self.column, Literal(1 << bit, LONG)), LONG)
                return Call("eq", (Call("mod", (shifted, Literal(2, LONG)), LONG), Literal(1, LONG)), BOOLEAN)
            case Call(_, args):
                return replace(expr, args=tuple(map(self.told, args)))
        return expr
