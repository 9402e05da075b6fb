"""Graphs as people give them, in the shape in which the algorithms want them.

A graph is its edges.  Ids may be of any type; whole numbers of any width become long, so that they meet.

Rule: the ends of an edge are of one type and never null, and a refusal says how to name or cast what was given.
"""

from __future__ import annotations

from ebbflow.columns.schema import DOUBLE, LONG, Schema, Type
from ebbflow.errors import PlanError, TypeMismatch, UnknownColumn, did_you_mean
from ebbflow.frontend.building.collection import Collection
from ebbflow.frontend.building.column import Column, col
from ebbflow.functions import greatest, least


def directed(edges: Collection, asking: str) -> Collection:
    """src, dst, as often as given; an edge with a null end connects nothing."""
    return located(edges, asking).select("src", "dst")


def located(edges: Collection, asking: str) -> Collection:
    """The same with the other columns."""
    _check(edges, asking, "edges", 'flow.input("edges", "src long, dst long")')
    missing = [name for name in ("src", "dst") if name not in edges.columns]
    if missing:
        raise UnknownColumn(
            f"{asking} takes edges with the columns src and dst; these have: {', '.join(edges.columns)}.",
            hint=_renaming(edges.schema, missing),
        )
    src, dst = _wide(edges.schema["src"]), _wide(edges.schema["dst"])
    if src != dst:
        raise TypeMismatch(
            f"{asking} takes edges between ids of one type; src is of type {src}, dst of type {dst}.",
            hint=f'Cast one: edges.with_columns(dst=edges.dst.cast("{src}")).',
        )
    ends = edges.with_columns(src=col("src").cast(str(src)), dst=col("dst").cast(str(dst)))
    return ends.filter(col("src").is_not_null() & col("dst").is_not_null())


def undirected(edges: Collection) -> Collection:
    """Each edge once, with src < dst: direction and repetition forgotten, loops from an id to itself left out."""
    return edges.select(src=least("src", "dst"), dst=greatest("src", "dst")).filter(col("src") < col("dst")).distinct()


def both_ways(edges: Collection) -> Collection:
    """Every edge and its reverse."""
    return edges.union(reversed_(edges))


def reversed_(edges: Collection) -> Collection:
    return edges.select(src="dst", dst="src")


def ids_of(edges: Collection) -> Collection:
    """Every id at an end of an edge, once."""
    return edges.select(id="src").union(edges.select(id="dst")).distinct()


def sources_of(sources: Collection, edges: Collection, asking: str) -> Collection:
    """The ids to start from: the column id, or the only column there is."""
    _check(sources, asking, "sources", 'flow.input("sources", "id long")')
    if "id" not in sources.columns and len(sources.columns) > 1:
        raise UnknownColumn(
            f'{asking} takes sources with the column "id"; these have: {", ".join(sources.columns)}.',
            hint=f'Say which it is: sources.select(id="{sources.columns[0]}").',
        )
    name = "id" if "id" in sources.columns else sources.columns[0]
    wanted, found = edges.schema["src"], _wide(sources.schema[name])
    if found != wanted:
        raise TypeMismatch(
            f"{asking} takes sources that are ids of the edges, of type {wanted}; theirs are of type {found}.",
            hint=f'Cast them: sources.select(id=sources["{name}"].cast("{wanted}")).',
        )
    return sources.select(id=col(name).cast(str(wanted))).filter(col("id").is_not_null())


def weight_of(edges: Collection, weight: object, asking: str) -> Column | object:
    """What an edge weighs: the name of a column, or an expression."""
    if isinstance(weight, str) and weight not in edges.columns:
        raise UnknownColumn(
            f'{asking} looks for the weight "{weight}" in the edges, which have: {", ".join(edges.columns)}.',
            hint=did_you_mean(weight, edges.columns) or "Name one of them, or leave weight= out to count edges.",
        )
    return weight


def _check(given: object, asking: str, what: str, example: str) -> None:
    if not isinstance(given, Collection):
        raise PlanError(
            f"{asking} takes {what} as a collection; got {'None' if given is None else 'a ' + type(given).__name__}.",
            hint=f"For example {example}; the rows come when the program runs.",
        )


def _renaming(schema: Schema, missing: list[str]) -> str:
    """The rename that would do, as far as types tell."""
    ends = [field.type for field in schema if field.name in ("src", "dst")]
    others = [
        field.name for field in schema if field.name not in ("src", "dst") and field.type in (ends or [field.type])
    ]
    if len(others) < len(missing):
        return "An edge has two ends: a column src and a column dst."
    fix = ", ".join(f'"{old}": "{new}"' for old, new in zip(others, missing))
    return f"Name {'it' if len(missing) == 1 else 'them'} so: edges.rename({{{fix}}})."


def _wide(kind: Type) -> Type:
    return LONG if kind.is_integer else DOUBLE if kind.is_float else kind
