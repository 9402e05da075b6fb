"""explode in select and with_columns: a row for each element of an array.

Rule: one column of a select is taken apart; the others are repeated beside its elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ebbflow.dataflow.exploding import add_exploded
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import NotAnExpression, TypeMismatch, users_place
from ebbflow.expressions import ast as w
from ebbflow.frontend.building.column import Column
from ebbflow.frontend.building.lineage import resolved


def with_exploded(graph: Graph, node: int, given: list[Any], verb: str) -> tuple[int, list[Any]]:
    """The collection with what is exploded taken apart, and what was given over it."""
    flat = [x for one in given for x in (one.values() if isinstance(one, Mapping) else [one])]
    found = [x for x in flat if isinstance(x, Column) and isinstance(x.tree, w.Exploded)]
    if not found:
        return node, given
    if len(found) > 1:
        raise NotAnExpression(
            f"{verb} takes one array apart, and is given {len(found)}.",
            hint="One after the other, or both at once: explode(arrays_zip(a, b)).",
        )
    (column,) = found
    tree = column.tree
    assert isinstance(tree, w.Exploded)
    expr = resolved(graph, node, tree.of, verb)
    if expr.type.name not in ("array", "map"):
        raise TypeMismatch(
            f'explode takes an array or a map, and "{expr}" is of type {expr.type}.',
            hint='split("text", ",") makes an array of text.',
        )
    node, hidden = add_exploded(graph, node, expr, tree.has_position, tree.is_outer, users_place())
    usual = [*(["pos"] if tree.has_position else []), *(["key", "value"] if expr.type.name == "map" else ["col"])]
    names = list(tree.names) or ([column.given_name] if column.given_name else usual)
    new: list[Any] = []
    for one in given:
        if isinstance(one, Mapping):
            new.append({name: _only(x, name, column, hidden) for name, x in one.items()})
        elif one is column:
            if len(names) != len(hidden):
                raise NotAnExpression(
                    f"{tree} makes {len(hidden)} columns ({', '.join(usual)}), and {len(names)} are named.",
                    hint="Name them all: .alias(" + ", ".join(f'"{name}"' for name in usual) + ").",
                )
            new += [Column(w.Named(place)).alias(name) for place, name in zip(hidden, names)]
        else:
            new.append(one)
    return node, new


def _only(given: Any, name: str, column: Column, hidden: list[str]) -> Any:
    if given is not column:
        return given
    if len(hidden) > 1:
        raise NotAnExpression(
            f"{column.tree} makes {len(hidden)} columns, and {name}= names one.",
            hint='Name them all: .alias("pos", "x").',
        )
    return Column(w.Named(hidden[0]))
