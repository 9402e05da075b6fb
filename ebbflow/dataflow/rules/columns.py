"""The rules of columns: names, types, keys and reducers.

Rule: what a node reads is there, with the type that it is read as.
"""

from __future__ import annotations

from difflib import get_close_matches

from ebbflow.columns.schema import RESERVED, Type
from ebbflow.dataflow import aggregates as aggregates_table
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow import windows
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.node_names import called, expression
from ebbflow.dataflow.rules.questions import counted, key_of, linear, of_sort, reads, subject
from ebbflow.dataflow.rules.rule import Breaches, Rule, rule
from ebbflow.errors import PlanError
from ebbflow.expressions.operations import same_words

OF_COLUMNS: list[Rule] = []  # in the order in which they are checked


@rule(OF_COLUMNS, "Columns of one collection have different names")
def names_differ(graph: Graph) -> Breaches:
    """A column is known by its name."""
    for number, schema in enumerate(graph.schemas):
        names = schema.names
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            yield PlanError(
                f'{subject(graph, number)} has two columns named "{twice[0]}".',
                at=graph.places[number],
                hint="Rename one; join takes suffix= for that.",
            )


@rule(OF_COLUMNS, "Every column that is read is there, with the type it is read as")
def columns_exist(graph: Graph) -> Breaches:
    """Expressions, keys, orders and aggregates name columns of what they read."""
    for number, node in enumerate(graph.nodes):
        for source, name, read_as in reads(graph, node):
            schema = graph.schemas[source]
            if name not in schema:
                near = get_close_matches(name, schema.names, 1)
                yield PlanError(
                    f'{subject(graph, number)} looks for the column "{name}" in {called(graph, source)}, which has:'
                    f" {', '.join(schema.names)}.",
                    at=graph.places[number],
                    hint=f'Did you mean "{near[0]}"?' if near else None,
                )
            elif read_as is not None and schema[name] != read_as:
                yield PlanError(
                    f'{subject(graph, number)} reads "{name}" as {read_as}; in {called(graph, source)} it is'
                    f" {schema[name]}.",
                    at=graph.places[number],
                )


@rule(OF_COLUMNS, "A filter's condition is true or false")
def conditions_are_boolean(graph: Graph) -> Breaches:
    """Rows for which it is null are left out, as those for which it is false."""
    for number, node in linear(graph, n.Filter):
        condition = node.action.condition  # type: ignore[union-attr]
        if condition.type.name != "boolean":
            yield PlanError(
                f"A filter's condition, {expression(condition)}, is a {condition.type}.",
                at=graph.places[number],
                hint="Compare it with something: col(...) > 0, .is_null(), ...",
            )


@rule(OF_COLUMNS, "All parts of a union have the same columns, in the same order")
def unions_agree(graph: Graph) -> Breaches:
    """Their rows become rows of one collection."""
    for number, concat in of_sort(graph, n.Concat):
        if not concat.sources:
            yield PlanError("A union of nothing has no columns.", at=graph.places[number])
            continue
        first = concat.sources[0]
        for other in concat.sources[1:]:
            if graph.schemas[other] != graph.schemas[first]:
                yield PlanError(
                    f"A union takes {called(graph, first)} with ({graph.schemas[first]})"
                    f" and {called(graph, other)} with ({graph.schemas[other]}).",
                    at=graph.places[number],
                    hint="Select the same columns on both, and cast where types differ.",
                )


@rule(OF_COLUMNS, "A join reads arrangements whose keys pair up in number and type")
def join_keys_pair_up(graph: Graph) -> Breaches:
    """Equal keys must be equal words, on either side."""
    for number, join in of_sort(graph, n.Join):
        sides = [key_of(graph, join.left), key_of(graph, join.right)]
        for side, key in zip((join.left, join.right), sides, strict=True):
            if key is None:
                yield PlanError(f"A join reads {called(graph, side)}, which is not arranged.", at=graph.places[number])
        if None in sides:
            continue
        left, right = (key or () for key in sides)
        if len(left) != len(right):
            yield PlanError(
                f"A join pairs {counted(len(left), 'key column')} of {called(graph, join.left)} with"
                f" {len(right)} of {called(graph, join.right)}.",
                at=graph.places[number],
                hint="Name one column on the right for each on the left.",
            )
            continue
        for a, b in zip(left, right, strict=True):
            one, two = graph.schemas[join.left][a], graph.schemas[join.right][b]
            if not same_words(one, two):
                yield PlanError(
                    f'A join compares "{a}" ({one}) of {called(graph, join.left)} with "{b}" ({two}) of'
                    f" {called(graph, join.right)}.",
                    at=graph.places[number],
                    hint=f'Cast one of them first: .cast("{one}").',
                )


@rule(OF_COLUMNS, "A reducer is one we have, and fits the type of its column")
def reducers_fit(graph: Graph) -> Breaches:
    """Sums and averages are of numbers; everything else takes any column."""
    for number, reduce in of_sort(graph, n.Reduce):
        at = graph.places[number]
        match reduce.reducer:
            case n.Aggregates(aggregates):
                for each in aggregates:
                    name, part = aggregates_table.split(each.op)
                    kind = aggregates_table.TABLE.get(name)
                    if kind is None:
                        there = ", ".join(aggregates_table.TABLE)
                        yield PlanError(f'There is no aggregate "{each.op}".', at=at, hint=f"There are: {there}.")
                    elif (each.column is None) != (kind.takes == "rows") or (each.by is None) == kind.has_order:
                        yield PlanError(f'The aggregate "{each.name}" = {each.op} needs a column.', at=at)
                    elif not 0 <= part <= 1:
                        yield PlanError(f"{each.op} is at a part of the way, from 0 to 1.", at=at)
                    elif each.column is not None:
                        found = graph.schemas[reduce.source][each.column]
                        if not aggregates_table.takes(each.op, found):
                            wants = {"whole": "whole numbers", "double": "doubles"}.get(kind.takes, "numbers")
                            yield PlanError(
                                f'{each.op} wants {wants}, and "{each.column}" is a {found}.',
                                at=at,
                                hint="Use min, max or count_distinct, or cast it.",
                            )
            case n.Top(first):
                if first < 1:
                    yield PlanError(f"The first {first} rows of a group are none.", at=at, hint="Ask for 1 or more.")
            case n.Window(order, functions):
                yield from _window_fits(graph, number, reduce, order, functions)
            case n.Threshold():
                if reduce.key != graph.schemas[reduce.source].names:
                    yield PlanError(
                        f"{subject(graph, number)} is by the whole row, and its key is {reduce.key}.", at=at
                    )
            case n.Own(_, how):
                if how not in ("rows", "batches"):
                    yield PlanError(f'A reduction of your own works on "rows" or "batches", not "{how}".', at=at)


def _window_fits(
    graph: Graph,
    number: int,
    reduce: n.Reduce,
    order: tuple[tuple[str, bool, bool], ...],
    functions: tuple[n.WindowFunction, ...],
) -> Breaches:
    """Functions that there are, of columns that are not keys, over frames that measure what can be measured."""
    at, source = graph.places[number], graph.schemas[reduce.source]
    for each in functions:
        kind = windows.WINDOW_FUNCTIONS.get(each.op)
        if kind is None:
            yield PlanError(
                f'There is no window function "{each.op}".', at=at, hint=", ".join(windows.WINDOW_FUNCTIONS) + "."
            )
            continue
        if (each.column is not None) != (kind.of == "yes"):
            yield PlanError(f'"{each.name}" = {each.op} {"needs a" if kind.of == "yes" else "has no"} column.', at=at)
        elif each.op in ("sum", "avg") and not source[each.column or ""].is_number:
            yield PlanError(f'{each.op} wants numbers, and "{each.column}" is a {source[each.column or ""]}.', at=at)
        for name in (each.column, each.default):
            if name in reduce.key:
                yield PlanError(f'"{each.name}" reads "{name}", which is a key of its window.', at=at, hint="Copy it.")
        if each.op in ("ntile", "nth_value") and each.number < 1:
            yield PlanError(f'"{each.name}" = {each.op} counts from 1.', at=at)
        frame = each.frame
        if frame is None:
            continue
        if not kind.framed or frame.unit not in ("rows", "range"):
            yield PlanError(f'"{each.name}" = {each.op} has a frame of {frame.unit}, which it cannot have.', at=at)
        elif frame.unit == "range" and (frame.start or frame.end):
            if len(order) != 1 or not is_measured(source[order[0][0]]):
                yield PlanError(f'"{each.name}" measures a range, which needs one order column of numbers.', at=at)


def is_measured(kind: Type) -> bool:
    """Whether values of a type can be so far apart."""
    return kind.is_number or kind.is_timestamp or kind.name == "date"


@rule(OF_COLUMNS, "A function of your own works on batches, on rows, or gives any number of rows for each")
def functions_are_known(graph: Graph) -> Breaches:
    """These are map_batches, map_rows and flat_map."""
    for number, node in linear(graph, n.Apply):
        how = node.action.how  # type: ignore[union-attr]
        if how not in ("batches", "rows", "flat"):
            yield PlanError(f'A function is applied to "{how}".', at=graph.places[number])


@rule(OF_COLUMNS, "What a node yields has the columns its parts say")
def schemas_follow(graph: Graph) -> Breaches:
    """A plan carries the columns of every node, so that nobody has to work them out again."""
    for number, node in enumerate(graph.nodes):
        expected, found = graph._schema(node), graph.schemas[number]
        if expected != found:
            yield PlanError(
                f"{subject(graph, number)} yields ({expected}), and the plan says ({found}).", at=graph.places[number]
            )


@rule(OF_COLUMNS, "Inputs have different names, known keys, and none of our own column names")
def inputs_are_clear(graph: Graph) -> Breaches:
    """Rows are fed by the input's name; `_time`, `_diff` and `_count` are ours in every result."""
    seen = set()
    for number, node in of_sort(graph, n.Input):
        if node.name in seen:
            yield PlanError(
                f'Two inputs are named "{node.name}".', at=graph.places[number], hint="Give one another name."
            )
        seen.add(node.name)
        ours = [name for name in node.schema.names if name in RESERVED]
        if ours:
            yield PlanError(
                f'The input "{node.name}" has a column "{ours[0]}"; {", ".join(RESERVED)} are ours.',
                at=graph.places[number],
                hint="Rename it.",
            )
        missing = [name for name in node.key if name not in node.schema]
        if missing:
            yield PlanError(
                f'The input "{node.name}" is replaced by key "{missing[0]}", and has: {", ".join(node.schema.names)}.',
                at=graph.places[number],
            )


@rule(OF_COLUMNS, "Outputs have different names, and none of our own column names")
def outputs_are_clear(graph: Graph) -> Breaches:
    """Results are asked for by name, and come with `_time`, `_diff` or `_count` beside their columns."""
    seen = set()
    for number, node in of_sort(graph, n.Output):
        if node.name in seen:
            yield PlanError(
                f'Two outputs are named "{node.name}".', at=graph.places[number], hint="Give one another name."
            )
        seen.add(node.name)
        ours = [name for name in graph.schemas[node.source].names if name in RESERVED]
        if ours:
            yield PlanError(
                f'The output "{node.name}" has a column "{ours[0]}"; {", ".join(RESERVED)} are ours.',
                at=graph.places[number],
                hint=f'Rename it: .rename({{"{ours[0]}": "{ours[0].lstrip("_")}"}}).',
            )
