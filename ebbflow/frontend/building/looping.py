"""Loop: a collection defined by repeated application of a function to itself.

A variable has its start value at round 0 and, at each later round, what the body computed from the round before. The
result is the value at which nothing changes any more, or the last one that `max_rounds` allows.

Rule: the body is called once, with variables that belong to the loop; if it is refused, nothing of it stays in the
plan.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ebbflow.columns.schema import LONG
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import PlanError, TypeMismatch, users_place
from ebbflow.expressions.operations import cast, common_type, converted
from ebbflow.expressions.typed import Column as Read
from ebbflow.frontend.building.lineage import called
from ebbflow.frontend.building.shaping import computed, every_column, project

Made = TypeVar("Made")


def iterate(
    graph: Graph,
    starts: Mapping[str, int],
    body: Callable[..., object],
    number_of: Callable[[object], int],
    made: Callable[[int], Made],
    max_rounds: int | None,
    on_limit: str,
) -> tuple[list[Made], bool]:
    """The variables' results, and whether the body returned one collection that stands for itself."""
    _check(body, max_rounds, on_limit)
    place = users_place()
    with graph.loop(max_rounds, on_limit) as loop:
        entered = graph.lift(starts.values(), graph.here, place)
        variables = [graph.add(n.Feedback(start, loop, i), place) for i, start in enumerate(entered)]
        graph.names.update(zip(variables, starts))
        answers, single = _answers(_called(body, dict(zip(starts, map(made, variables)))), list(starts))
        following = [_shaped(graph, variable, number_of(answer)) for variable, answer in zip(variables, answers)]
        bound = [graph.bind(variable, number) for variable, number in zip(variables, following)]
        return [made(graph.add(n.Linear(number, n.Leave(loop)), place)) for number in bound], single


def waiting(graph: Graph, node: int, rounds: object) -> int:
    """The collection inside the loop whose body is being written, each row from its own round on."""
    if len(graph.scopes[node]) >= len(graph.here):
        where = "is inside the loop already" if graph.here else "is not used in a loop"
        raise PlanError(
            f"wait lets rows come into a loop later, and {called(graph, node)} {where}.",
            hint="Write it in the body of a loop, of a collection from outside: start.wait(lambda r: r.rank).",
        )
    _, expr = computed(graph, node, rounds, "wait")
    if not expr.type.is_integer:
        raise TypeMismatch(
            f"wait is given a {expr.type}; a round is a whole number.", hint='Round it, and .cast("long").'
        )
    columns, name = every_column(graph.schemas[node]), "round"
    while name in graph.schemas[node]:
        name += "_"
    place = users_place()
    (entered,) = graph.lift((project(graph, node, [*columns, (name, converted(expr, LONG))]),), graph.here, place)
    return project(graph, graph.add(n.Linear(entered, n.Wait(name)), place), columns)


def name_of_variable(body: Callable[..., object]) -> str:
    """What the body calls its variable; people read it in errors and pictures."""
    try:
        return next(iter(inspect.signature(body).parameters))
    except (TypeError, ValueError, StopIteration):
        return "variable"


def _check(body: object, max_rounds: object, on_limit: object) -> None:
    if not callable(body):
        raise PlanError(
            f"iterate takes a function from the collection to its next round; got {body!r}.",
            hint="For example c.iterate(lambda c: c.union(start).distinct()).",
        )
    is_number = isinstance(max_rounds, int) and not isinstance(max_rounds, bool)
    if max_rounds is not None and not (is_number and 1 <= max_rounds < 2**63):  # type: ignore[operator]
        raise PlanError(
            f"max_rounds={max_rounds!r} is not a number of rounds.",
            hint="It is a whole number from 1, of 64 bits: how often the body is applied at most.",
        )
    if not isinstance(on_limit, str) or on_limit not in ("return", "raise"):
        raise PlanError(
            f"on_limit={on_limit!r} is not known.", hint='It is "return" (give what the loop has) or "raise".'
        )


def _parameters(signature: inspect.Signature) -> str:
    return ", ".join(map(str, signature.parameters.values())) or "nothing"


def _called(body: Callable[..., object], variables: dict[str, object]) -> object:
    """By name where the body has these names, else in order."""
    try:
        signature = inspect.signature(body)
    except (TypeError, ValueError):
        return body(*variables.values())
    if len(variables) > 1 and set(signature.parameters) == set(variables):
        return body(**variables)
    try:
        signature.bind(*variables.values())
    except TypeError:
        count = len(variables)
        raise PlanError(
            f"iterate hands its body {count} collection{'s' if count > 1 else ''}, one for each variable; "
            f"this body takes {_parameters(signature)}.",
            hint="For example c.iterate(lambda c: c.union(start).distinct()).",
        ) from None
    return body(*variables.values())


def _answers(answer: object, names: list[str]) -> tuple[list[object], bool]:
    if isinstance(answer, Mapping):
        if set(answer) != set(names):
            raise PlanError(
                f"the loop has the variables {', '.join(names)}; its body returned {', '.join(map(str, answer))}.",
                hint="Return one collection for each.",
            )
        return [answer[name] for name in names], False
    single = not isinstance(answer, list | tuple)
    answers = [answer] if single else list(answer) if isinstance(answer, Sequence) else []
    if len(answers) != len(names):
        raise PlanError(
            f"the loop has {_count(len(names), 'variable')} ({', '.join(names)}), and its body returned"
            f" {_count(len(answers), 'collection')}.",
            hint="Return one collection for each variable, in their order.",
        )
    return answers, single


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _shaped(graph: Graph, variable: int, following: int) -> int:
    """What the body returned, with the variable's columns in the variable's order."""
    wanted, found = graph.schemas[variable], graph.schemas[following]
    name = graph.names[variable]
    if set(wanted.names) != set(found.names):
        raise PlanError(
            f"the loop variable {name} starts with the columns {', '.join(wanted.names)}, and the body returns"
            f" {', '.join(found.names)}.",
            hint="Let the body select the same names: .select(...); their order does not matter.",
        )
    for field in wanted:
        other = found[field.name]
        if other != field.type and common_type([other, field.type]) != field.type:
            raise PlanError(
                f'the column "{field.name}" of the loop variable {name} starts as {field.type}, and the body returns it'
                f" as {other}.",
                hint=f'Start with the wider type, .with_columns({field.name}=col("{field.name}").cast("{other}")), or'
                " cast it in the body.",
            )
    return project(
        graph, following, [(field.name, cast(Read(field.name, found[field.name]), field.type)) for field in wanted]
    )
