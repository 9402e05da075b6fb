"""A graph as JSON, and back.

The plan is data, so it can be written down, sent to another machine, read by another tool.  What JSON cannot hold is
a user's own code: functions are listed by name, and whoever reads the plan brings them along.  What a node holds is
written and read by the types of its fields, so that a new kind of node needs nothing here.

Rule: reading what was written gives an equal graph: same nodes under the same numbers, same names, same places.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any, cast, get_args, get_origin, get_type_hints

from ebbflow.columns.ddl import type_of
from ebbflow.columns.schema import Field, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph, Loop
from ebbflow.dataflow.rules.check import check
from ebbflow.errors import Place, PlanError
from ebbflow.expressions.typed import Call, Column, Expr, Literal

PLAN_VERSION = 1
Json = dict[str, Any]


def to_json(graph: Graph) -> Json:
    """The whole graph as dictionaries, lists, text and numbers."""
    functions = functions_of(graph)
    return {
        "ebbflow_plan": PLAN_VERSION,
        "coordinates": list(graph.coordinates),
        **({"timezone": graph.timezone} if graph.timezone is not None else {}),
        "loops": [loop_json(loop) for loop in graph.loops],
        "functions": [function.name for function in functions],
        "nodes": [
            {
                "node": number,
                **node_json(node, functions.index),
                "yields": schema_json(graph.schemas[number]),
                "inside": list(graph.scopes[number]),
                **({"name": graph.names[number]} if number in graph.names else {}),
                **({"at": [place.file, place.line]} if (place := graph.places[number]) else {}),
            }
            for number, node in enumerate(graph.nodes)
        ],
        "next": [[variable, following] for variable, following in sorted(graph.next_of.items())],
    }


def from_json(data: Mapping[str, Any], functions: Sequence[Callable[..., object] | n.Function] = ()) -> Graph:
    """The graph that `to_json` wrote.  `functions` are the user's own, in the order of its "functions"."""
    if data.get("ebbflow_plan") != PLAN_VERSION:
        raise PlanError(
            f"This is not a plan of ebbflow, version {PLAN_VERSION}: it says {data.get('ebbflow_plan')!r}.",
            hint="Write it again with this version.",
        )
    named = data["functions"]
    if len(functions) != len(named):
        raise PlanError(
            f"The plan calls {len(named)} functions ({', '.join(named) or 'none'}), and {len(functions)} were given.",
            hint="A plan does not hold your code: give the functions in the order in which the plan lists them.",
        )
    own = [
        fn if isinstance(fn, n.Function) else n.Function(fn, id(fn), name)
        for fn, name in zip(functions, named, strict=True)
    ]
    graph = Graph(tuple(data["coordinates"]))
    graph.timezone = data.get("timezone")
    graph.loops = [Loop(loop["parent"], loop["max_rounds"], loop["on_limit"]) for loop in data["loops"]]
    for entry in data["nodes"]:
        node = _node(entry, own)
        graph.nodes.append(node)
        graph._known[node] = entry["node"]
        graph.schemas.append(schema_from(entry["yields"]))
        graph.scopes.append(tuple(entry["inside"]))
        graph.places.append(Place(*entry["at"]) if "at" in entry else None)
        if "name" in entry:
            graph.names[entry["node"]] = entry["name"]
    graph.next_of = dict(data["next"])
    check(graph)
    return graph


def functions_of(graph: Graph) -> list[n.Function]:
    """The user's own functions, each once, in the order in which nodes name them."""
    found: dict[n.Function, None] = {}
    for node in graph.nodes:
        match node:
            case n.Linear(_, n.Apply(function)) | n.Linear(_, n.Inspect(function)):
                found[function] = None
            case n.Reduce(_, _, n.Own(function)) | n.Reduce(_, _, n.Threshold(n.Function() as function)):
                found[function] = None
    return list(found)


# ---- writing --------------------------------------------------------------------------------


def loop_json(loop: Loop) -> Json:
    return {"parent": loop.parent, "max_rounds": loop.max_rounds, "on_limit": loop.on_limit}


def node_json(node: n.Node, function: Callable[[n.Function], Any]) -> Json:
    """A node; `function` says what to write for a user's own."""
    written = {"kind": _tag(node), **_fields_json(node, function)}
    match node:
        case n.Input(name, _, _, rows):
            written["input"] = written.pop("name")
            if rows is None:
                written.pop("rows")
            written = {"kind": "input", "input": name, **written}
        case n.Output(name):
            written.pop("name")
            written = {"kind": "output", "output": name, **written}
    return written


def _tag(kind: object) -> str:
    return (kind if isinstance(kind, type) else type(kind)).__name__.lower()


def _fields_json(what: Any, function: Callable[[n.Function], Any]) -> Json:
    return {field.name: _json(getattr(what, field.name), function) for field in fields(what)}


def _json(value: Any, function: Callable[[n.Function], Any]) -> Any:
    """What a field holds, whichever kind of node has it."""
    match value:
        case n.Function():
            return function(value)
        case Schema():
            return schema_json(value)
        case Column() | Literal() | Call():
            return expr_json(value)
        case n.Aggregate(op, column, name, by):
            return [op, column, name, *([] if by is None else [by])]
        case n.Frame(unit, start, end):
            return [unit, value_json(start), value_json(end)]
        case n.WindowFunction():
            return _fields_json(value, function)
        case tuple():
            return [_json(part, function) for part in value]
    if isinstance(value, get_args(n.Action)):
        return {"do": _tag(value), **_fields_json(value, function)}
    if isinstance(value, get_args(n.Reducer)):
        return {"by": _tag(value), **_fields_json(value, function)}
    return value_json(value)


def expr_json(expr: Expr) -> Json:
    match expr:
        case Column(name, kind):
            return {"column": name, "type": str(kind)}
        case Literal(value, kind):
            return {"literal": value_json(value), "type": str(kind)}
        case Call(op, args, kind, options):
            written: Json = {"call": op, "args": [expr_json(arg) for arg in args], "type": str(kind)}
            return {**written, "options": [value_json(option) for option in options]} if options else written


def value_json(value: object) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else {"float": repr(value)}
        case bytes():
            return {"bytes": value.hex()}
        case datetime():
            return {"datetime": value.isoformat()}
        case date():
            return {"date": value.isoformat()}
        case Decimal():
            return {"decimal": str(value)}
        case tuple() | list():
            return [value_json(part) for part in value]
    raise AssertionError(f"a plan holds no {type(value)}")


def schema_json(schema: Schema) -> list[list[str]]:
    return [[field.name, str(field.type)] + ([] if field.nullable else ["not null"]) for field in schema]


# ---- reading --------------------------------------------------------------------------------


def _node(entry: Json, own: list[n.Function]) -> n.Node:
    named: dict[str, type] = {_tag(kind): kind for kind in get_args(n.Node)}
    if entry["kind"] not in named:
        raise PlanError(f'The plan has a node of the kind "{entry["kind"]}", which this version does not know.')
    given = {**entry, "name": entry.get(entry["kind"])}  # of an input or an output; others have none
    return cast(n.Node, _made(named[entry["kind"]], given, own))


def _made(kind: type, entry: Json, own: list[n.Function]) -> Any:
    """A node, or a part of one, of the fields that the class says it has."""
    hints = _hints(kind)
    return kind(**{name: _read(hint, entry.get(name), own) for name, hint in hints.items()})


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _read(hint: Any, entry: Any, own: list[n.Function]) -> Any:
    """What a field of this type holds."""
    if hint == Expr:
        return _expr(entry)
    if hint == n.Action:
        return _of_several(n.Action, entry, "do", "The plan does {} to rows, which this version does not know.", own)
    if hint == n.Reducer:
        return _of_several(n.Reducer, entry, "by", "The plan reduces by {}, which this version does not know.", own)
    if type(None) in get_args(hint):
        (hint,) = set(get_args(hint)) - {type(None)} if len(get_args(hint)) == 2 else (object,)
        return None if entry is None else _read(hint, entry, own)
    if hint is n.Function:
        return own[entry]
    if hint is Schema:
        return schema_from(entry)
    if hint is n.Aggregate:
        return n.Aggregate(*entry)
    if hint is n.Frame:
        unit, start, end = entry
        return n.Frame(unit, _number(start), _number(end))
    if hint is n.WindowFunction:
        return _made(n.WindowFunction, entry, own)
    if get_origin(hint) is tuple:
        parts = get_args(hint)
        each = parts[:1] * len(entry) if parts[-1] is ... else parts
        return tuple(_read(part, one, own) for part, one in zip(each, entry, strict=True))
    return _value(entry)


def _of_several(kinds: Any, entry: Json, tag: str, unknown: str, own: list[n.Function]) -> Any:
    named: dict[str, type] = {_tag(kind): kind for kind in get_args(kinds)}
    if entry[tag] not in named:
        raise PlanError(unknown.format(f'"{entry[tag]}"'))
    return _made(named[entry[tag]], entry, own)


def _number(entry: Any) -> int | float | None:
    found = _value(entry)
    assert found is None or isinstance(found, int | float)
    return found


def _expr(entry: Json) -> Expr:
    kind = _type(entry["type"])
    if "column" in entry:
        return Column(entry["column"], kind)
    if "literal" in entry:
        return Literal(_value(entry["literal"]), kind)
    return Call(entry["call"], tuple(map(_expr, entry["args"])), kind, tuple(map(_value, entry.get("options", ()))))


def _value(entry: Any) -> object:
    match entry:
        case {"float": text}:
            return float(text)
        case {"bytes": text}:
            return bytes.fromhex(text)
        case {"datetime": text}:
            return datetime.fromisoformat(text)
        case {"date": text}:
            return date.fromisoformat(text)
        case {"decimal": text}:
            return Decimal(text)
        case [*parts]:
            return tuple(map(_value, parts))
    return entry


def _type(text: str) -> Type:
    if "<" in text:
        return type_of(text)
    if not text.startswith("decimal("):
        return Type(text)
    precision, scale = text.removeprefix("decimal(").removesuffix(")").split(",")
    return Type("decimal", int(precision), int(scale))


def schema_from(fields: list[list[str]]) -> Schema:
    return Schema(tuple(Field(name, _type(kind), not rest) for name, kind, *rest in fields))
