"""SQL text made into a collection: `flow.sql("select ...")`.

Rule: a query that is refused leaves the program as it was.
"""

from __future__ import annotations

import re
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from ebbflow.columns.ddl import checked
from ebbflow.columns.schema import Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import SqlError
from ebbflow.frontend.building.shaping import project
from ebbflow.relational import algebra as a
from ebbflow.relational.build import Builder, unique
from ebbflow.relational.dialect import Dialect
from ebbflow.relational.expressions import ask_for_errors
from ebbflow.relational.query import query_of
from ebbflow.relational.refusals import check_said
from ebbflow.relational.rows import Bound


def collection_of(graph: Graph, text: str) -> int:
    """The number of the node that gives what the query asks for."""
    query = parsed(text)
    check_said(query)
    if graph.ansi:
        ask_for_errors(query)
    found = query_of(query, tables_of(graph), None)
    names = unique(found.names)
    checked(Field(name, kind) for name, kind in zip(names, found.relation.types))
    builder = Builder(graph)
    node = builder.node(found.relation)
    return project(graph, node, [(name, column) for name, column in zip(names, a.columns_of(found.relation))])


def parsed(text: str) -> exp.Expression:
    if not isinstance(text, str):
        raise SqlError(f"sql takes a query as text; got {type(text).__name__}.", hint='flow.sql("select ...")')
    try:
        trees = [tree for tree in sqlglot.parse(text, read=Dialect) if tree is not None]
    except (ParseError, TokenError) as problem:
        at = getattr(problem, "errors", None) or [{}]
        raise _unreadable(text, problem, at[0]) from None
    if len(trees) != 1:
        raise SqlError(f"sql takes one query; the text has {len(trees)}.", hint="Call it once for each.")
    return _table_of(trees[0])


SAID_OF_TEXT = {
    "Required keyword": "something is missing",
    "Invalid expression": "this does not fit here",
    "Expected table name": "the name of a table is missing",
    "Expected TYPE": "this is no type",
    "Error tokenizing": "a text or a name is not closed",
    "The number of provided arguments": "a function is given too many values",
}
"""What sqlglot says, in words that name none of its parts."""
OTHERS = {
    r"select\s+top\s+\d": "Write limit at the end: select ... limit 2.",
    r"\s!?~\*?\s": "Write rlike: s rlike 'a'.",
    r"//": "Write div: a div b.",
    r"\*\*": "Write power(a, 2).",
    r"\{\{|\{%": "Templates are filled in before: give the query that they make.",
}
"""How other dialects write it, and what to write."""


def _unreadable(text: str, problem: Exception, at: dict[str, Any]) -> SqlError:
    said = at.get("description") or str(problem).splitlines()[0]
    said = next((words for start, words in SAID_OF_TEXT.items() if said.startswith(start)), said).rstrip(".")
    word = at.get("highlight") or ""
    near = f', near "{word}"' if word else ""
    begins = max(at.get("col", 0) - max(len(word) - 1, 0), 1)  # sqlglot says where the word ends
    where = f" (line {at['line']}, column {begins})" if at.get("line") else ""
    if not where and said == SAID_OF_TEXT["Error tokenizing"]:
        where = _unclosed(text)
    hint = next((way for form, way in OTHERS.items() if re.search(form, text, re.IGNORECASE)), "Spark's SQL is read.")
    return SqlError(f"the query cannot be read: {said}{near}{where}.", hint=hint)


def _unclosed(text: str) -> str:
    """Where the last quote stands that opens something."""
    opened, at = "", 0
    for i, letter in enumerate(text):
        if letter == opened:
            opened = ""
        elif letter in "'\"`" and not opened:
            opened, at = letter, i
    before = text[:at]
    return f" (line {before.count(chr(10)) + 1}, column {at - before.rfind(chr(10))})"


def _table_of(tree: exp.Expression) -> exp.Expression:
    """`table orders` is `select * from orders`; sqlglot reads a column that is called table."""
    if isinstance(tree, exp.Alias) and isinstance(tree.this, exp.Column) and tree.this.name.lower() == "table":
        return exp.select("*").from_(exp.Table(this=tree.args["alias"]))
    return tree


def tables_of(graph: Graph) -> dict[str, Bound]:
    """What a query can read: the inputs and the outputs of the program, by name."""
    found: dict[str, Bound] = {}
    for number, node in enumerate(graph.nodes):
        if isinstance(node, n.Input) and node.rows is None:
            found[node.name.lower()] = _given(number, node.schema)
        elif isinstance(node, n.Output):
            found.setdefault(node.name.lower(), _given(node.source, graph.schemas[node.source]))
    return found


def _given(number: int, schema: Schema) -> Bound:
    return Bound(a.Given(number, schema.names, schema.types), schema.names)
