"""Collections as numbers of a graph, put into the shape that someone needs.

What select, union, joins, groups and loops have in common: columns by expression, and several collections
brought to the same columns.

Rule: a node is only added where it changes something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ebbflow.columns.ddl import checked
from ebbflow.columns.schema import Field, Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import PlanError, TypeMismatch, users_place
from ebbflow.expressions.operations import cast, common_type
from ebbflow.expressions.resolve import nested_too_deep, with_type
from ebbflow.expressions.typed import Column as Read
from ebbflow.expressions.typed import Expr
from ebbflow.frontend.building.column import Column
from ebbflow.frontend.building.lineage import called, resolved, row_of
from ebbflow.frontend.building.tracing import value_of

Named = tuple[str, Expr]


def computed(graph: Graph, node: int, given: object, verb: str) -> tuple[Column, Expr]:
    """What was given where a value is wanted: as written, and typed."""
    column = value_of(given, row_of(graph, node, verb), verb)
    try:
        return column, resolved(graph, node, column.tree, verb)
    except RecursionError:
        raise nested_too_deep() from None


def unused(name: str, taken: Iterable[str]) -> str:
    """A name of ours for a column that is computed on the way; people may call theirs as they like."""
    taken = set(taken)
    while name in taken:
        name += "_"
    return name


def every_column(schema: Schema) -> list[Named]:
    return [(field.name, Read(field.name, field.type)) for field in schema]


def project(graph: Graph, node: int, columns: Iterable[Named]) -> int:
    """These columns; the node itself where they are what it has."""
    columns = tuple((name, with_type(expr, name)) for name, expr in columns)
    if list(columns) == every_column(graph.schemas[node]):
        return node
    return graph.add(n.Linear(node, n.Map(columns)), users_place())


def projected(graph: Graph, node: int, columns: Iterable[Named]) -> int:
    """The same for names that people chose: distinct, and none of ours."""
    columns = tuple(columns)
    checked(Field(name, expr.type) for name, expr in columns)
    return project(graph, node, columns)


def unified(graph: Graph, nodes: Sequence[int], verb: str) -> list[int]:
    """The collections with the columns of the first, in its order, and types that all of them fit."""
    schemas = [graph.schemas[node] for node in nodes]
    for node, schema in zip(nodes[1:], schemas[1:]):
        if set(schema.names) != set(schemas[0].names):
            raise _other_names(graph, nodes[0], node, verb)
    types = {}
    for name in schemas[0].names:
        types[name] = common_type([schema[name] for schema in schemas])
        if types[name] is None:
            found = ", ".join(dict.fromkeys(str(schema[name]) for schema in schemas))
            raise TypeMismatch(
                f'{verb} finds the column "{name}" with different types: {found}.',
                hint=f'Cast it: .with_columns({name}=col("{name}").cast("{schemas[0][name]}")).',
            )
    return [
        project(
            graph,
            node,
            [(name, cast(Read(name, schema[name]), kind)) for name, kind in types.items() if kind is not None],
        )
        for node, schema in zip(nodes, schemas)
    ]


def _other_names(graph: Graph, first: int, other: int, verb: str) -> PlanError:
    here, there = graph.schemas[first].names, graph.schemas[other].names
    missing, extra = [x for x in here if x not in there], [x for x in there if x not in here]
    if len(missing) == len(extra):
        fix = ", ".join(f'"{new}": "{old}"' for new, old in zip(extra, missing))
        hint = f"Name them alike: .rename({{{fix}}})."
    elif not missing:
        hint = f".drop({', '.join(map(repr, extra))}) leaves out what the other does not have."
    else:
        fix = ", ".join(f'{name}=ebb.lit(None).cast("{graph.schemas[first][name]}")' for name in missing)
        hint = f"Add what is missing, for example .with_columns({fix}), or .drop it on the other side."
    return PlanError(
        f"{verb} puts columns together by name: {called(graph, first)} has {', '.join(here)};"
        f" {called(graph, other)} has {', '.join(there)}.",
        hint=hint.replace("'", '"'),
    )


def sum_of(graph: Graph, nodes: Sequence[int], verb: str) -> int:
    return graph.add(n.Concat(tuple(unified(graph, nodes, verb))), users_place()) if len(nodes) > 1 else nodes[0]


def negated(graph: Graph, node: int) -> int:
    return graph.add(n.Linear(node, n.Negate()), users_place())


def distinct(graph: Graph, node: int) -> int:
    match graph.nodes[node]:
        case n.Reduce(_, _, n.Threshold(None)):
            return node
    schema = graph.schemas[node]
    return graph.add(n.Reduce(node, schema.names, n.Threshold(), schema), users_place())


def own_function(fn: object, verb: str) -> n.Function:
    if not callable(fn):
        raise TypeMismatch(f"{verb} takes a function; got {fn!r}.", hint=f"For example .{verb}(lambda ...: ...).")
    return n.Function(fn, id(fn), getattr(fn, "__name__", type(fn).__name__))


Wrap = Callable[[Graph, int], object]
