"""The rules of a graph, each a sentence with an error that teaches.

With two of them, time never goes backwards and every backward edge goes to a later round, no two changes can cause
each other, so progress can be told and loops can end.  The others make sure that what a node reads is there and fits.
A graph that breaks one is refused before it runs, at the line of the user's program that made the node.

Rule: each rule may count on those above it, and `check` tells the first that is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

from ebbflow import limits
from ebbflow.columns.schema import LONG, RESERVED, Type
from ebbflow.dataflow import aggregates as aggregates_table
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow import windows
from ebbflow.dataflow.node_names import called, expression, kind, loop_called
from ebbflow.dataflow.order import Tangled, blocks
from ebbflow.errors import PlanError
from ebbflow.expressions.operations import same_words
from ebbflow.expressions.typed import Call, Column, Expr, Literal

if TYPE_CHECKING:
    from ebbflow.dataflow.graph import Graph

Breaches = Iterator[PlanError]
Sort = TypeVar("Sort")


@dataclass(frozen=True)
class Rule:
    sentence: str
    reason: str
    breaches: Callable[[Graph], Breaches]


RULES: list[Rule] = []


def rule(sentence: str) -> Callable[[Callable[[Graph], Breaches]], Callable[[Graph], Breaches]]:
    """A function that yields one error for each breach of `sentence`; its docstring is the reason why."""

    def keep(breaches: Callable[[Graph], Breaches]) -> Callable[[Graph], Breaches]:
        RULES.append(Rule(sentence, " ".join((breaches.__doc__ or "").split()), breaches))
        return breaches

    return keep


def check(graph: Graph) -> None:
    """Refuse a graph that breaks a rule."""
    for each in RULES:
        for breach in each.breaches(graph):
            raise breach


def page() -> str:
    """docs/rules.md: every rule and its reason."""
    lines = [
        "# The rules of a program",
        "",
        "A program is checked before it runs. One that breaks a rule is refused with a `PlanError` that says what, at",
        "which line of yours, and what to do. Most of these cannot be broken through the methods of a collection;",
        "plans that come from elsewhere, as JSON or built by hand, are held to the same rules. They are checked in",
        "this order.",
        "",
    ]
    for number, each in enumerate(RULES, 1):
        lines += [f"{number}. **{each.sentence}.** {each.reason}"]
    return "\n".join(lines) + "\n"


# ---- shape ----------------------------------------------------------------------------------


@rule("A node reads nodes that stand before it")
def reads_what_is_there(graph: Graph) -> Breaches:
    """Only a loop variable is given something later, so every cycle passes through one and goes to a later round."""
    for number, node in enumerate(graph.nodes):
        for source in n.sources_of(node):
            if not 0 <= source < number:
                yield PlanError(
                    f"{_the(graph, number)} reads node {source}, which does not stand before it.",
                    at=graph.places[number],
                    hint="Only a loop variable may lead back: build cycles with iterate.",
                )


@rule("Every loop stands in an earlier loop, or in none")
def loops_nest(graph: Graph) -> Breaches:
    """A time has one round for each loop around it, from the outermost in."""
    for number, loop in enumerate(graph.loops):
        if loop.parent is not None and not 0 <= loop.parent < number:
            yield PlanError(f"Loop {number} says it stands in loop {loop.parent}, which is not made before it.")
        if loop.max_rounds is not None and loop.max_rounds < 1:
            yield PlanError(
                f"Loop {number} is to run {loop.max_rounds} rounds; a loop applies its body at least once.",
                hint="Leave max_rounds out, or give 1 or more.",
            )
        if loop.on_limit not in ("return", "raise"):
            yield PlanError(
                f'Loop {number} has on_limit="{loop.on_limit}".', hint='It is "return" (what the loop has) or "raise".'
            )
    for number, scope in enumerate(graph.scopes):
        if scope != _around(graph, scope[-1] if scope else None):
            yield PlanError(f"{_the(graph, number)} stands in the loops {scope}, which do not lie in each other.")


@rule("Nothing is wider than the engine's own fields")
def fits(graph: Graph) -> Breaches:
    """The page docs/limits.md has all limits. These are known before a program runs."""
    if len(graph.coordinates) > limits.COORDINATES:
        yield PlanError(
            f"A time has {len(graph.coordinates):,} coordinates; there can be {limits.COORDINATES:,}.",
            hint="Keep what is not a time as a column.",
        )
    if len(graph.nodes) > limits.NODES:
        yield PlanError(
            f"The program has {len(graph.nodes):,} nodes; there can be {limits.NODES:,}.",
            hint="Cut it into programs, of which one feeds the next.",
        )
    for number, schema in enumerate(graph.schemas):
        if schema.width > limits.COLUMNS:
            yield PlanError(
                f"{_the(graph, number)} has {len(schema):,} columns; there can be {limits.COLUMNS:,}.",
                at=graph.places[number],
                hint="Turn columns into rows (key, name, value), or leave some out.",
            )
        if len(graph.scopes[number]) > limits.LOOPS_NESTED:
            yield PlanError(
                f"{_the(graph, number)} stands in {len(graph.scopes[number]):,} loops; {limits.LOOPS_NESTED:,} can "
                "stand in each other.",
                at=graph.places[number],
                hint="Compute the result of an inner loop first, outside the others.",
            )


@rule("Inputs and outputs stand outside all loops")
def ends_are_outside(graph: Graph) -> Breaches:
    """The rounds of a loop are its own affair; people see the times they gave."""
    for number, node in enumerate(graph.nodes):
        if isinstance(node, n.Input | n.Output) and graph.scopes[number]:
            yield PlanError(
                f"{_the(graph, number)} stands {loop_called(graph, graph.scopes[number])}.",
                at=graph.places[number],
                hint="Use what iterate returns, after the loop.",
            )


@rule("Enter leads into a loop that stands where the collection is")
def enters_one_loop(graph: Graph) -> Breaches:
    """Each step inward adds one round to the time."""
    for number, _, source, loop in _borders(graph, n.Enter):
        if not 0 <= loop < len(graph.loops) or graph.scopes[number] != (*graph.scopes[source], loop):
            yield PlanError(
                f"{called(graph, source)} is {loop_called(graph, graph.scopes[source])} and cannot step from there into"
                f" loop {loop}.",
                at=graph.places[number],
                hint="Enter the loops around it first, outermost first.",
            )


@rule("What waits for a round has just entered the loop, with the round in a column of whole numbers")
def waits_at_the_entrance(graph: Graph) -> Breaches:
    """Rows that are already on their way through the rounds have times of their own."""
    for number, node in _linear(graph, n.Wait):
        source, column = graph.nodes[node.source], node.action.column  # type: ignore[union-attr]
        if not isinstance(source, n.Linear) or not isinstance(source.action, n.Enter):
            yield PlanError(
                f"{called(graph, node.source)} waits for a round, and does not come from outside the loop.",
                at=graph.places[number],
                hint="Let what comes into the loop wait, before anything of the loop is joined with it.",
            )
        schema = graph.schemas[node.source]
        if column not in schema or schema[column] != LONG:
            yield PlanError(
                f'{called(graph, node.source)} waits for the round "{column}", which is no column of type long.',
                at=graph.places[number],
            )


@rule("Leave leads out of the loop the collection is in")
def leaves_its_loop(graph: Graph) -> Breaches:
    """It drops the last round of the time; another loop's round would be lost in its place."""
    for number, _, source, loop in _borders(graph, n.Leave):
        if graph.scopes[source][-1:] != (loop,) or graph.scopes[number] != graph.scopes[source][:-1]:
            yield PlanError(
                f"{called(graph, source)} is {loop_called(graph, graph.scopes[source])} and cannot leave loop {loop}.",
                at=graph.places[number],
                hint="Leave the innermost loop first.",
            )


@rule("Both sides of a join live in the same loop")
def join_in_one_loop(graph: Graph) -> Breaches:
    """Their times are compared coordinate by coordinate."""
    for number, join in _each(graph, n.Join):
        yield from _together(graph, number, "join", (join.left, join.right))


@rule("All parts of a union live in the same loop")
def union_in_one_loop(graph: Graph) -> Breaches:
    """Their changes become changes of one collection, with one kind of time."""
    for number, concat in _each(graph, n.Concat):
        yield from _together(graph, number, "union", concat.sources)


@rule("A loop variable starts with a collection that has entered its loop")
def starts_inside(graph: Graph) -> Breaches:
    """What it starts with is its value at round 0."""
    seen: dict[tuple[int, int], int] = {}
    for number, variable in _each(graph, n.Feedback):
        if graph.scopes[number][-1:] != (variable.loop,) or graph.scopes[variable.start] != graph.scopes[number]:
            yield PlanError(
                f"A variable of loop {variable.loop} starts with {called(graph, variable.start)}, which is"
                f" {loop_called(graph, graph.scopes[variable.start])}.",
                at=graph.places[number],
                hint="Enter the loop with it first; iterate does so by itself.",
            )
        if (variable.loop, variable.index) in seen:
            yield PlanError(f"Loop {variable.loop} has two variables number {variable.index}.", at=graph.places[number])
        seen[variable.loop, variable.index] = number


@rule("Every other node lives where its source lives")
def stays_in_place(graph: Graph) -> Breaches:
    """Only enter and leave change which loops a collection is in."""
    for number, node in enumerate(graph.nodes):
        if isinstance(node, n.Linear) and isinstance(node.action, n.Enter | n.Leave):
            continue
        for source in n.sources_of(node):
            if graph.scopes[source] != graph.scopes[number]:
                yield PlanError(
                    f"{_the(graph, number)} stands {loop_called(graph, graph.scopes[number])} and reads"
                    f" {called(graph, source)}, which is {loop_called(graph, graph.scopes[source])}.",
                    at=graph.places[number],
                    hint="A loop's results are what iterate returns; a loop may use outer collections freely.",
                )


@rule("Nothing that has left a loop enters it again")
def no_way_back_in(graph: Graph) -> Breaches:
    """Its round would start from 0 again, and time would go backwards."""
    try:
        blocks(graph)
    except Tangled as tangled:
        loop = next((number for part, number in tangled.parts if part == "loop"), None)
        outside = next((number for part, number in tangled.parts if part == "node"), None)
        yield PlanError(
            f"What comes out of loop {loop} leads back into it"
            + (f", through {called(graph, outside)}." if outside is not None else ", through another loop."),
            at=graph.places[outside] if outside is not None else None,
            hint="Make what leads back a variable of the loop; a loop may have several.",
        )


@rule("Every loop variable is given its next value once, by a collection of its loop with the same columns")
def variables_are_bound(graph: Graph) -> Breaches:
    """The value at round i is what the variable holds at round i + 1."""
    for number, _ in _each(graph, n.Feedback):
        if number not in graph.next_of:
            yield PlanError(
                f"{_the(graph, number)} of the loop has no next value.",
                at=graph.places[number],
                hint="The body returns one collection for each variable.",
            )
    for number, following in graph.next_of.items():
        if not 0 <= number < len(graph.nodes) or not isinstance(graph.nodes[number], n.Feedback):
            yield PlanError(f"A next value is given to node {number}, which is not a loop variable.")
            continue
        if not 0 <= following < len(graph.nodes) or graph.scopes[following] != graph.scopes[number]:
            yield PlanError(
                f"The next value of {_the(graph, number)} lies {_lies(graph, following)}, and the variable"
                f" {loop_called(graph, graph.scopes[number])}.",
                at=graph.places[number],
                hint="The body returns collections of its own loop.",
            )
        elif graph.schemas[following] != graph.schemas[number]:
            yield PlanError(
                f"The loop starts with ({graph.schemas[number]}) and its body returns ({graph.schemas[following]}).",
                at=graph.places[following] or graph.places[number],
                hint="Let the body select the same columns, with the same types and in the same order.",
            )


@rule("Time never goes backwards")
def time_goes_on(graph: Graph) -> Breaches:
    """A delay stands outside loops, gives one time for each input coordinate and moves none back.  What cannot be seen
    in the plan is checked for every row, and refused there."""
    for number, node in _linear(graph, n.Delay):
        times = node.action.times  # type: ignore[union-attr]
        if graph.scopes[number]:
            yield PlanError(
                f"A delay moves the times of inputs, and stands {loop_called(graph, graph.scopes[number])}.",
                at=graph.places[number],
                hint="Delay it before the loop, or delay the loop's result.",
            )
        if len(times) != len(graph.coordinates):
            yield PlanError(
                f"A delay gives {_count(len(times), 'coordinate')}; times here have"
                f" {_count(len(graph.coordinates), 'coordinate')}: {', '.join(graph.coordinates)}.",
                at=graph.places[number],
            )
            continue
        for coordinate, time in zip(graph.coordinates, times, strict=True):
            unknown = [name for name in _names(time) if name not in graph.coordinates]
            if unknown:
                yield PlanError(
                    f'A delay reads "{unknown[0]}"; it can read only the time: {", ".join(graph.coordinates)}.',
                    at=graph.places[number],
                )
            elif not time.type.is_integer:
                yield PlanError(
                    f"A delay makes {coordinate} a {time.type}; a time is a whole number.",
                    at=graph.places[number],
                    hint='Round it, and .cast("long").',
                )
            elif _goes_back(time, coordinate):
                yield PlanError(
                    f"A delay moves {coordinate} to {expression(time)}, which is earlier.",
                    at=graph.places[number],
                    hint="A change can only be moved to the same time or a later one.",
                )


# ---- columns --------------------------------------------------------------------------------


@rule("Columns of one collection have different names")
def names_differ(graph: Graph) -> Breaches:
    """A column is known by its name."""
    for number, schema in enumerate(graph.schemas):
        names = schema.names
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            yield PlanError(
                f'{_the(graph, number)} has two columns named "{twice[0]}".',
                at=graph.places[number],
                hint="Rename one; join takes suffix= for that.",
            )


@rule("Every column that is read is there, with the type it is read as")
def columns_exist(graph: Graph) -> Breaches:
    """Expressions, keys, orders and aggregates name columns of what they read."""
    for number, node in enumerate(graph.nodes):
        for source, name, read_as in _reads(graph, node):
            schema = graph.schemas[source]
            if name not in schema:
                near = get_close_matches(name, schema.names, 1)
                yield PlanError(
                    f'{_the(graph, number)} looks for the column "{name}" in {called(graph, source)}, which has:'
                    f" {', '.join(schema.names)}.",
                    at=graph.places[number],
                    hint=f'Did you mean "{near[0]}"?' if near else None,
                )
            elif read_as is not None and schema[name] != read_as:
                yield PlanError(
                    f'{_the(graph, number)} reads "{name}" as {read_as}; in {called(graph, source)} it is'
                    f" {schema[name]}.",
                    at=graph.places[number],
                )


@rule("A filter's condition is true or false")
def conditions_are_boolean(graph: Graph) -> Breaches:
    """Rows for which it is null are left out, as those for which it is false."""
    for number, node in _linear(graph, n.Filter):
        condition = node.action.condition  # type: ignore[union-attr]
        if condition.type.name != "boolean":
            yield PlanError(
                f"A filter's condition, {expression(condition)}, is a {condition.type}.",
                at=graph.places[number],
                hint="Compare it with something: col(...) > 0, .is_null(), ...",
            )


@rule("All parts of a union have the same columns, in the same order")
def unions_agree(graph: Graph) -> Breaches:
    """Their rows become rows of one collection."""
    for number, concat in _each(graph, n.Concat):
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


@rule("A join reads arrangements whose keys pair up in number and type")
def join_keys_pair_up(graph: Graph) -> Breaches:
    """Equal keys must be equal words, on either side."""
    for number, join in _each(graph, n.Join):
        sides = [key_of(graph, join.left), key_of(graph, join.right)]
        for side, key in zip((join.left, join.right), sides, strict=True):
            if key is None:
                yield PlanError(f"A join reads {called(graph, side)}, which is not arranged.", at=graph.places[number])
        if None in sides:
            continue
        left, right = (key or () for key in sides)
        if len(left) != len(right):
            yield PlanError(
                f"A join pairs {_count(len(left), 'key column')} of {called(graph, join.left)} with"
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


@rule("A reducer is one we have, and fits the type of its column")
def reducers_fit(graph: Graph) -> Breaches:
    """Sums and averages are of numbers; everything else takes any column."""
    for number, reduce in _each(graph, n.Reduce):
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
                    yield PlanError(f"{_the(graph, number)} is by the whole row, and its key is {reduce.key}.", at=at)
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
        kind = windows.FUNCTIONS.get(each.op)
        if kind is None:
            yield PlanError(f'There is no window function "{each.op}".', at=at, hint=", ".join(windows.FUNCTIONS) + ".")
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


@rule("A function of your own works on batches, on rows, or gives any number of rows for each")
def functions_are_known(graph: Graph) -> Breaches:
    """These are map_batches, map_rows and flat_map."""
    for number, node in _linear(graph, n.Apply):
        how = node.action.how  # type: ignore[union-attr]
        if how not in ("batches", "rows", "flat"):
            yield PlanError(f'A function is applied to "{how}".', at=graph.places[number])


@rule("What a node yields has the columns its parts say")
def schemas_follow(graph: Graph) -> Breaches:
    """A plan carries the columns of every node, so that nobody has to work them out again."""
    for number, node in enumerate(graph.nodes):
        expected, found = graph._schema(node), graph.schemas[number]
        if expected != found:
            yield PlanError(
                f"{_the(graph, number)} yields ({expected}), and the plan says ({found}).", at=graph.places[number]
            )


@rule("Inputs have different names, known keys, and none of our own column names")
def inputs_are_clear(graph: Graph) -> Breaches:
    """Rows are fed by the input's name; `_time`, `_diff` and `_count` are ours in every result."""
    seen = set()
    for number, node in _each(graph, n.Input):
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


@rule("Outputs have different names, and none of our own column names")
def outputs_are_clear(graph: Graph) -> Breaches:
    """Results are asked for by name, and come with `_time`, `_diff` or `_count` beside their columns."""
    seen = set()
    for number, node in _each(graph, n.Output):
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


# ---- what the rules ask ---------------------------------------------------------------------


def key_of(graph: Graph, number: int) -> tuple[str, ...] | None:
    """The key by which a node is arranged; an arrangement stays one when it enters a loop."""
    match graph.nodes[number]:
        case n.Arrange(_, key):
            return key
        case n.Linear(source, n.Enter()):
            return key_of(graph, source)
    return None


def _each(graph: Graph, sort: type[Sort]) -> list[tuple[int, Sort]]:
    return [(number, node) for number, node in enumerate(graph.nodes) if isinstance(node, sort)]


def _linear(graph: Graph, sort: type) -> list[tuple[int, n.Linear]]:
    return [(number, node) for number, node in _each(graph, n.Linear) if isinstance(node.action, sort)]


def _borders(graph: Graph, sort: type) -> list[tuple[int, n.Linear, int, int]]:
    return [(number, node, node.source, node.action.loop) for number, node in _linear(graph, sort)]  # type: ignore[union-attr]


def _together(graph: Graph, number: int, what: str, sources: Iterable[int]) -> Breaches:
    first, *others = sources
    for other in others:
        one, two = graph.scopes[first], graph.scopes[other]
        if one != two:
            inner, outer = (first, other) if len(one) > len(two) else (other, first)
            yield PlanError(
                f"{what} mixes collections from different loops: {called(graph, first)} is {loop_called(graph, one)},"
                f" {called(graph, other)} is {loop_called(graph, two)}.",
                at=graph.places[number],
                hint=f"Bring {called(graph, outer)} inside, or use {called(graph, inner)} after its loop.",
            )


def _around(graph: Graph, loop: int | None) -> tuple[int, ...] | None:
    """The loops from the outermost to `loop`; None where there is no such chain."""
    chain: list[int] = []
    while loop is not None:
        if not 0 <= loop < len(graph.loops):
            return None
        chain.append(loop)
        loop = graph.loops[loop].parent
    return tuple(reversed(chain))


def _reads(graph: Graph, node: n.Node) -> Iterator[tuple[int, str, Type | None]]:
    """(node read, column, type it is taken for or None) of everything a node reads by name."""
    match node:
        case n.Linear(source, n.Map(columns)):
            for _, expr in columns:
                yield from ((source, column.name, column.type) for column in _columns(expr))
        case n.Linear(source, n.Filter(condition)):
            yield from ((source, column.name, column.type) for column in _columns(condition))
        case n.Arrange(source, key):
            yield from ((source, name, None) for name in key)
        case n.Join(left, right, columns):
            for _, side, name in columns:
                yield (left, right)[side], name, None
        case n.Reduce(source, key, reducer):
            yield from ((source, name, None) for name in key)
            match reducer:
                case n.Aggregates(aggregates):
                    yield from ((source, name, None) for each in aggregates for name in each.columns)
                case n.Top(_, order):
                    yield from ((source, name, None) for name, _ in order)
                case n.Window(order, functions):
                    yield from ((source, name, None) for name, _, _ in order)
                    read = (name for each in functions for name in (each.column, each.default))
                    yield from ((source, name, None) for name in read if name is not None)


def _columns(expr: Expr) -> Iterator[Column]:
    match expr:
        case Column():
            yield expr
        case Call(_, args):
            for arg in args:
                yield from _columns(arg)


def _names(expr: Expr) -> list[str]:
    return [column.name for column in _columns(expr)]


def _goes_back(time: Expr, coordinate: str) -> bool:
    """Whether the plan itself shows it: the coordinate less something, or plus something below zero."""
    match time:
        case Call("sub", (Column(name), Literal(int() as by))):
            return name == coordinate and by > 0
        case Call("add", (Column(name), Literal(int() as by))) | Call("add", (Literal(int() as by), Column(name))):
            return name == coordinate and by < 0
    return False


def _the(graph: Graph, number: int) -> str:
    """A node as the subject of a sentence."""
    if number in graph.names:
        return f'{kind(graph.nodes[number])} "{graph.names[number]}"'
    node = graph.nodes[number]
    if isinstance(node, n.Input | n.Output):
        return f'The {kind(node)} "{node.name}"'
    return f"A {kind(node)}" if kind(node)[0] not in "aeiou" else f"An {kind(node)}"


def _lies(graph: Graph, number: int) -> str:
    return loop_called(graph, graph.scopes[number]) if 0 <= number < len(graph.scopes) else "nowhere"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
