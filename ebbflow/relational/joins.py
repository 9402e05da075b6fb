"""Joins of two nodes, of every kind, made of the engine's one join of equal keys.

What else the condition says filters the pairs.  Rows without a partner are all rows but the matched ones: those are
kept by a join with the distinct keys of the other side or, where the pairs are filtered, with the distinct rows that
came through.

Rule: a row that is there n times has its partners n times, and is without a partner n times or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import users_place
from ebbflow.expressions.typed import Column, Expr, Literal
from ebbflow.frontend.building.collecting import null_safe
from ebbflow.frontend.building.shaping import distinct, negated, project
from ebbflow.relational.algebra import Relation, columns_of
from ebbflow.relational.conditions import Keys, conjunction, keys_of, sides_exchanged
from ebbflow.relational.numbered import ROWS_ALONE, add, filtered, projected, summed

Keyed = tuple[int, tuple[str, ...]]  # a node, and the names of its columns that are the key


@dataclass(frozen=True)
class Side:
    """A relation, and the node that gives it."""

    node: int
    relation: Relation

    @property
    def width(self) -> int:
        return len(self.relation.types)


def join(graph: Graph, left: Side, right: Side, kind: str, condition: Expr | None) -> int:
    """The node of a join; `kind` as in the relation."""
    keys, rest = keys_of(condition, left.width)
    residual = conjunction(rest)
    if kind in ("semi", "anti"):
        there = _matched(graph, left, right, keys, residual)
        return there if kind == "semi" else summed(graph, [left.node, negated(graph, there)])
    parts = [filtered(graph, _pairs(graph, left, right, keys), residual)]
    if kind in ("left", "full"):
        alone = _unmatched(graph, left, right, keys, residual)
        parts.append(projected(graph, alone, [*columns_of(left.relation), *_nulls(right)]))
    if kind in ("right", "full"):
        back = [(theirs, mine) for mine, theirs in keys]
        residual = None if residual is None else sides_exchanged(residual, left.width, right.width)
        alone = _unmatched(graph, right, left, back, residual)
        parts.append(projected(graph, alone, [*_nulls(left), *columns_of(right.relation)]))
    return summed(graph, parts)


def _nulls(side: Side) -> list[Expr]:
    return [Literal(None, kind) for kind in side.relation.types]


def _pairs(graph: Graph, left: Side, right: Side, keys: Keys) -> int:
    """All columns of both, of rows with equal keys."""
    mine, left_key = _keyed(graph, left.node, [key for key, _ in keys])
    theirs, right_key = _keyed(graph, right.node, [key for _, key in keys])
    columns = [(f"c{i}", 0, f"c{i}") for i in range(left.width)]
    columns += [(f"c{left.width + i}", 1, f"c{i}") for i in range(right.width)]
    return joined_by(graph, (mine, left_key), (theirs, right_key), columns or [("c0", 0, "c0")])


def _keyed(graph: Graph, node: int, keys: list[Expr]) -> Keyed:
    """The node with each key as a column, and their names."""
    names: list[str] = []
    added: list[tuple[str, Expr]] = []
    for i, key in enumerate(keys):
        if isinstance(key, Column) and key.name not in names:
            names.append(key.name)
        else:
            names.append(f"k{i}")
            added.append((f"k{i}", key))
    own = [(field.name, Column(field.name, field.type)) for field in graph.schemas[node]]
    return project(graph, node, [*own, *added]), tuple(names)


def _unmatched(graph: Graph, left: Side, right: Side, keys: Keys, residual: Expr | None) -> int:
    """The rows of the left that have no partner."""
    return summed(graph, [left.node, negated(graph, _matched(graph, left, right, keys, residual))])


def _matched(graph: Graph, left: Side, right: Side, keys: Keys, residual: Expr | None) -> int:
    """The rows of the left that have a partner, as often as they are there."""
    if residual is None:
        known = distinct(graph, _named(graph, right.node, [key for _, key in keys]))
        return _with_known_keys(graph, left, [key for key, _ in keys], known)
    once = Side(distinct(graph, left.node), left.relation)
    pairs = filtered(graph, _pairs(graph, once, right, keys), residual)
    found = distinct(graph, projected(graph, pairs, columns_of(left.relation)))
    whole_row = [part for column in columns_of(left.relation) for part in null_safe(column)]
    return _with_known_keys(graph, left, whole_row, _named(graph, found, whole_row))


def _named(graph: Graph, node: int, keys: list[Expr]) -> int:
    return project(graph, node, [(f"k{i}", key) for i, key in enumerate(keys or [ROWS_ALONE])])


def _with_known_keys(graph: Graph, left: Side, keys: list[Expr], known: int) -> int:
    """The left rows whose keys are known, where each is known once."""
    mine, names = _keyed(graph, left.node, keys)
    theirs = tuple(field.name for field in graph.schemas[known])[: len(keys)]
    columns = [(f"c{i}", 0, f"c{i}") for i in range(max(left.width, 1))]
    return joined_by(graph, (mine, names), (known, theirs), columns)


def joined_by(graph: Graph, left: Keyed, right: Keyed, columns: list[tuple[str, int, str]]) -> int:
    """The engine's join: of two nodes by columns of theirs, which are equal in type."""
    mine, theirs = graph.together((left[0], right[0]), users_place())
    return add(
        graph, n.Join(add(graph, n.Arrange(mine, left[1])), add(graph, n.Arrange(theirs, right[1])), tuple(columns))
    )
