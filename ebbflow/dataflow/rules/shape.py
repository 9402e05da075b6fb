"""The rules of shape: what reads what, in which loops, and at which times.

Rule: a graph that keeps these has a time for every change, and every cycle goes to a later round.
"""

from __future__ import annotations

from ebbflow import limits
from ebbflow.columns.schema import LONG
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.node_names import called, expression, loop_called
from ebbflow.dataflow.order import Tangled, blocks
from ebbflow.dataflow.rules.questions import (
    around,
    borders,
    counted,
    goes_back,
    lies,
    linear,
    of_sort,
    subject,
    together,
)
from ebbflow.dataflow.rules.rule import Breaches, Rule, rule
from ebbflow.errors import PlanError
from ebbflow.expressions.typed import columns_of

SHAPE: list[Rule] = []  # in the order in which they are checked


@rule(SHAPE, "A node reads nodes that stand before it")
def reads_what_is_there(graph: Graph) -> Breaches:
    """Only a loop variable is given something later, so every cycle passes through one and goes to a later round."""
    for number, node in enumerate(graph.nodes):
        for source in n.sources_of(node):
            if not 0 <= source < number:
                yield PlanError(
                    f"{subject(graph, number)} reads node {source}, which does not stand before it.",
                    at=graph.places[number],
                    hint="Only a loop variable may lead back: build cycles with iterate.",
                )


@rule(SHAPE, "Every loop stands in an earlier loop, or in none")
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
        if scope != around(graph, scope[-1] if scope else None):
            yield PlanError(f"{subject(graph, number)} stands in the loops {scope}, which do not lie in each other.")


@rule(SHAPE, "Nothing is wider than the engine's own fields")
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
                f"{subject(graph, number)} has {len(schema):,} columns; there can be {limits.COLUMNS:,}.",
                at=graph.places[number],
                hint="Turn columns into rows (key, name, value), or leave some out.",
            )
        if len(graph.scopes[number]) > limits.LOOPS_NESTED:
            yield PlanError(
                f"{subject(graph, number)} stands in {len(graph.scopes[number]):,} loops; {limits.LOOPS_NESTED:,} can "
                "stand in each other.",
                at=graph.places[number],
                hint="Compute the result of an inner loop first, outside the others.",
            )


@rule(SHAPE, "Unions of unions pass a row on a limited number of times")
def unions_end(graph: Graph) -> Breaches:
    """A union hands on each row of each of its sources: forty unions of a collection with itself, a trillion rows."""
    ways: list[int] = []
    for number, node in enumerate(graph.nodes):
        goes_on = isinstance(node, n.Linear | n.Concat | n.Feedback)
        ways.append(sum(ways[source] for source in n.sources_of(node) if source < number) if goes_on else 1)
        if isinstance(node, n.Concat) and ways[number] > limits.PATHS:
            yield PlanError(
                f"Unions of unions pass each row on {ways[number]:,} times; at most {limits.PATHS:,} times can be "
                "computed.",
                at=graph.places[number],
                hint="Put distinct() between the unions, or group_by(...) and count: equal rows are then one row.",
            )
            return


@rule(SHAPE, "Inputs and outputs stand outside all loops")
def ends_are_outside(graph: Graph) -> Breaches:
    """The rounds of a loop are its own affair; people see the times they gave."""
    for number, node in enumerate(graph.nodes):
        if isinstance(node, n.Input | n.Output) and graph.scopes[number]:
            yield PlanError(
                f"{subject(graph, number)} stands {loop_called(graph, graph.scopes[number])}.",
                at=graph.places[number],
                hint="Use what iterate returns, after the loop.",
            )


@rule(SHAPE, "Enter leads into a loop that stands where the collection is")
def enters_one_loop(graph: Graph) -> Breaches:
    """Each step inward adds one round to the time."""
    for number, _, source, loop in borders(graph, n.Enter):
        if not 0 <= loop < len(graph.loops) or graph.scopes[number] != (*graph.scopes[source], loop):
            yield PlanError(
                f"{called(graph, source)} is {loop_called(graph, graph.scopes[source])} and cannot step from there into"
                f" loop {loop}.",
                at=graph.places[number],
                hint="Enter the loops around it first, outermost first.",
            )


@rule(SHAPE, "What waits for a round has just entered the loop, with the round in a column of whole numbers")
def waits_at_the_entrance(graph: Graph) -> Breaches:
    """Rows that are already on their way through the rounds have times of their own."""
    for number, node in linear(graph, n.Wait):
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


@rule(SHAPE, "Leave leads out of the loop the collection is in")
def leaves_its_loop(graph: Graph) -> Breaches:
    """It drops the last round of the time; another loop's round would be lost in its place."""
    for number, _, source, loop in borders(graph, n.Leave):
        if graph.scopes[source][-1:] != (loop,) or graph.scopes[number] != graph.scopes[source][:-1]:
            yield PlanError(
                f"{called(graph, source)} is {loop_called(graph, graph.scopes[source])} and cannot leave loop {loop}.",
                at=graph.places[number],
                hint="Leave the innermost loop first.",
            )


@rule(SHAPE, "Both sides of a join live in the same loop")
def join_in_one_loop(graph: Graph) -> Breaches:
    """Their times are compared coordinate by coordinate."""
    for number, join in of_sort(graph, n.Join):
        yield from together(graph, number, "join", (join.left, join.right))


@rule(SHAPE, "All parts of a union live in the same loop")
def union_in_one_loop(graph: Graph) -> Breaches:
    """Their changes become changes of one collection, with one kind of time."""
    for number, concat in of_sort(graph, n.Concat):
        yield from together(graph, number, "union", concat.sources)


@rule(SHAPE, "A loop variable starts with a collection that has entered its loop")
def starts_inside(graph: Graph) -> Breaches:
    """What it starts with is its value at round 0."""
    seen: dict[tuple[int, int], int] = {}
    for number, variable in of_sort(graph, n.Feedback):
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


@rule(SHAPE, "Every other node lives where its source lives")
def stays_in_place(graph: Graph) -> Breaches:
    """Only enter and leave change which loops a collection is in."""
    for number, node in enumerate(graph.nodes):
        if isinstance(node, n.Linear) and isinstance(node.action, n.Enter | n.Leave):
            continue
        for source in n.sources_of(node):
            if graph.scopes[source] != graph.scopes[number]:
                yield PlanError(
                    f"{subject(graph, number)} stands {loop_called(graph, graph.scopes[number])} and reads"
                    f" {called(graph, source)}, which is {loop_called(graph, graph.scopes[source])}.",
                    at=graph.places[number],
                    hint="A loop's results are what iterate returns; a loop may use outer collections freely.",
                )


@rule(SHAPE, "Nothing that has left a loop enters it again")
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


@rule(SHAPE, "Every loop variable is given its next value once, by a collection of its loop with the same columns")
def variables_are_bound(graph: Graph) -> Breaches:
    """The value at round i is what the variable holds at round i + 1."""
    for number, _ in of_sort(graph, n.Feedback):
        if number not in graph.next_of:
            yield PlanError(
                f"{subject(graph, number)} of the loop has no next value.",
                at=graph.places[number],
                hint="The body returns one collection for each variable.",
            )
    for number, following in graph.next_of.items():
        if not 0 <= number < len(graph.nodes) or not isinstance(graph.nodes[number], n.Feedback):
            yield PlanError(f"A next value is given to node {number}, which is not a loop variable.")
            continue
        if not 0 <= following < len(graph.nodes) or graph.scopes[following] != graph.scopes[number]:
            yield PlanError(
                f"The next value of {subject(graph, number)} lies {lies(graph, following)}, and the variable"
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


@rule(SHAPE, "Time never goes backwards")
def time_goes_on(graph: Graph) -> Breaches:
    """A delay stands outside loops, gives one time for each input coordinate and moves none back.  What cannot be seen
    in the plan is checked for every row, and refused there."""
    for number, node in linear(graph, n.Delay):
        times = node.action.times  # type: ignore[union-attr]
        if graph.scopes[number]:
            yield PlanError(
                f"A delay moves the times of inputs, and stands {loop_called(graph, graph.scopes[number])}.",
                at=graph.places[number],
                hint="Delay it before the loop, or delay the loop's result.",
            )
        if len(times) != len(graph.coordinates):
            yield PlanError(
                f"A delay gives {counted(len(times), 'coordinate')}; times here have"
                f" {counted(len(graph.coordinates), 'coordinate')}: {', '.join(graph.coordinates)}.",
                at=graph.places[number],
            )
            continue
        for coordinate, time in zip(graph.coordinates, times, strict=True):
            unknown = [name for name in columns_of(time) if name not in graph.coordinates]
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
            elif goes_back(time, coordinate):
                yield PlanError(
                    f"A delay moves {coordinate} to {expression(time)}, which is earlier.",
                    at=graph.places[number],
                    hint="A change can only be moved to the same time or a later one.",
                )
