"""A plan of Catalyst's as a tree of plain nodes: its classes, fields and children.

One call brings the whole plan over as JSON, which leaves some things out: the rows of a relation, how an operation
errs, the type of what is computed.  For these a node knows the way to its own object in the Java process, and goes it
only when it is asked.

Rule: a node is read, never changed; what JSON says of it is what Catalyst said when the plan was brought over.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any


class Node:
    """A plan or an expression.  kind: its class without the package; fields: the rest of what JSON says of it."""

    def __init__(self, path: str, fields: dict[str, Any], children: list[Node], reach: Callable[[], Any]):
        self.kind = path.rsplit(".", 1)[-1].rstrip("$")
        self.is_plan = ".plans." in path or ".execution." in path or ".analysis." in path or ".sql.delta." in path
        self.children, self._given, self._reach = children, fields, reach
        self.written: Node | None = None  # the function that a person wrote, where Catalyst put another for it

    @cached_property
    def java(self) -> Any:
        """The same node in the Java process."""
        return self._reach()

    @cached_property
    def fields(self) -> dict[str, Any]:
        return {name: self._read(value, partial(self._reach_field, name)) for name, value in self._given.items()}

    def _reach_field(self, name: str) -> Any:
        return getattr(self.java, name)()

    def __getitem__(self, name: str) -> Any:
        return self.fields.get(name)

    def has(self, name: str) -> bool:
        """Whether its class has such a field, whatever JSON says of it."""
        return name in self._given

    def _read(self, value: Any, reach: Callable[[], Any]) -> Any:
        """A field: trees of nodes in it are read as such, the names of Scala's objects are plain."""
        if _is_tree(value):
            return read(value, lambda: _inside(reach()))
        if isinstance(value, list):
            return [self._read(one, lambda i=i: reach().apply(i)) for i, one in enumerate(value)]  # type: ignore[misc]
        if isinstance(value, dict) and "object" in value:
            return value["object"].rsplit(".", 1)[-1].rstrip("$")
        if isinstance(value, dict) and "product-class" in value:
            return {k: self._read(one, lambda k=k: getattr(reach(), k)()) for k, one in value.items()}  # type: ignore[misc]
        return value

    @property
    def trees(self) -> Iterator[Node]:
        """The expressions, and the plans of subqueries, in its fields."""
        for value in self.fields.values():
            yield from _trees_in(value)

    @cached_property
    def id(self) -> int:
        """The number by which Catalyst knows a column."""
        return int(self._given["exprId"]["id"])

    def walk(self) -> Iterator[Node]:
        """It and everything below it, with the expressions and the plans of subqueries."""
        yield self
        for tree in self.trees:
            yield from tree.walk()
        for child in self.children:
            yield from child.walk()

    def within(self) -> Iterator[Node]:
        """An expression and what it is made of, without the plans of subqueries."""
        yield self
        for child in self.children:
            yield from child.within()

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, self.children))})"


def of(java: Any) -> Node:
    """A plan, or an expression, of the Java process."""
    return read(json.loads(java.toJSON()), lambda: java)


def read(nodes: list[dict[str, Any]], reach: Callable[[], Any]) -> Node:
    """Nodes in pre-order, each with the number of its children."""
    given = iter(nodes)

    def next_(reach: Callable[[], Any]) -> Node:
        one = next(given)
        fields = {name: value for name, value in one.items() if name not in ("class", "num-children")}
        node = Node(one["class"], fields, [], reach)
        for i in range(one["num-children"]):
            node.children.append(next_(lambda i=i: node.java.children().apply(i)))  # type: ignore[misc]
        return node

    return next_(reach)


def _is_tree(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "class" in value[0]


def _inside(java: Any) -> Any:
    """What an Option holds."""
    return java.get() if java.getClass().getName() == "scala.Some" else java


def _trees_in(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _trees_in(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _trees_in(one)
