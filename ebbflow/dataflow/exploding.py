"""Exploding: a row for each element of an array, or for each entry of a map.

It is a function of one row that gives several, which the engine applies to whole lanes: every distinct array is read
once, and the other columns are repeated as words.

Rule: the new rows have the columns of the old one that are kept, then the position if it is asked for, then the element
(or the key and the value); an empty or null array has none, or, where it is *outer*, one row of nulls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ebbflow.columns.schema import INT, Field, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import Place
from ebbflow.expressions.typed import Column, Expr


@dataclass(frozen=True)
class Exploder:
    """at: the column that is taken apart; keeps: the columns that stay."""

    at: int
    of: Type
    keeps: tuple[int, ...]
    has_position: bool
    is_outer: bool

    def __call__(self, row: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Of one row, as people see values."""
        kept = tuple(row[i] for i in self.keeps)
        value = row[self.at]
        if not value:
            nothing = (None,) * (self.has_position + self.width)
            return [(*kept, *nothing)] if self.is_outer else []
        parts = list(value.items()) if self.of.name == "map" else [(x,) for x in value]
        return [(*kept, *((i,) if self.has_position else ()), *part) for i, part in enumerate(parts)]

    @property
    def width(self) -> int:
        """How many columns an element is."""
        return len(self.of.parts)


_exploder = lru_cache(4096)(Exploder)


def types_of(kind: Type, has_position: bool) -> tuple[Type, ...]:
    """Of the new columns."""
    return (*((INT,) if has_position else ()), *(part for _, part in kind.parts))


def add_exploded(
    graph: Graph, node: int, expr: Expr, has_position: bool, is_outer: bool, place: Place | None
) -> tuple[int, list[str]]:
    """The collection with an array or a map taken apart: its columns, then the new ones, and their names."""
    schema = graph.schemas[node]
    own = [(field.name, Column(field.name, field.type)) for field in schema]
    if isinstance(expr, Column):
        at = schema.index(expr.name)
    else:
        node, at = graph.add(n.Linear(node, n.Map((*own, ("\0nested", expr)))), place), len(own)
    fn = _exploder(at, expr.type, tuple(range(len(own))), has_position, is_outer)
    names = [f"\0{i}" for i in range(fn.width + has_position)]
    while set(names) & set(schema.names):
        names = [f"\0{name}" for name in names]
    new = [Field(name, kind) for name, kind in zip(names, types_of(expr.type, has_position))]
    word = f"{'pos' if has_position else ''}explode{'_outer' if is_outer else ''}"
    function = n.Function(fn, id(fn), f"{word} of column {at}, {expr.type}")
    return graph.add(n.Linear(node, n.Apply(function, "flat", Schema((*schema.fields, *new)))), place), names
