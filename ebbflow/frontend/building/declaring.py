"""What is declared by name: inputs, outputs and the coordinates of times.

Rule: a name is text, is used once, and is none of those that results have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ebbflow.columns.schema import RESERVED
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import (
    DuplicateName,
    PlanError,
    ReservedName,
    TypeMismatch,
)

if TYPE_CHECKING:
    pass


def check_name(name: object, what: str) -> None:
    if not isinstance(name, str) or not name:
        raise TypeMismatch(
            f"the name of an {what} is text; got {'none' if name == '' else type(name).__name__}.",
            hint=f'For example flow.{what}("edges", ...).',
        )


def coordinates_of(time: object) -> tuple[str, ...]:
    names = (time,) if isinstance(time, str) else tuple(time) if isinstance(time, Iterable) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise TypeMismatch(
            f"time names the coordinates of a time; got {time!r}.",
            hint='For example Dataflow(time=("valid", "system")).',
        )
    if len(set(names)) < len(names):
        raise DuplicateName(
            f"two coordinates of a time have one name: {', '.join(names)}.", hint="Give each a name of its own."
        )
    for name in names:
        if name in RESERVED:
            raise ReservedName(f'"{name}" is kept for results.', hint=f'Call the coordinate "{name[1:]}".')
    return names


def refuse_twice(graph: Graph, kind: type[n.Input] | type[n.Output], name: str) -> None:
    if any(isinstance(node, kind) and node.name == name for node in graph.nodes):
        if kind is n.Output:
            raise DuplicateName(f'the output "{name}" is there already.', hint="Give this one another name.")
        raise DuplicateName(
            f'the input "{name}" is there already.',
            hint="Use what flow.input returned, or give this one another name.",
        )


def refuse_without_output(graph: Graph) -> None:
    if not any(isinstance(node, n.Output) for node in graph.nodes):
        raise PlanError(
            "the program has no output, so there is nothing to keep right.",
            hint='Name a result: flow.output("result", collection).',
        )
