"""A graph as JSON, and back.

The plan is data, so it can be written down, sent to another machine, read by another tool.  What JSON cannot hold is
a user's own code: functions are listed by name, and whoever reads the plan brings them along.

Rule: reading what was written gives an equal graph: same nodes under the same numbers, same names, same places.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from ebbflow.columns.schema import Field, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph, Loop
from ebbflow.dataflow.rules import check
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
    match node:
        case n.Input(name, schema, key, rows):
            said = {} if rows is None else {"rows": [list(map(value_json, row)) for row in rows]}
            return {"kind": "input", "input": name, "schema": schema_json(schema), "key": list(key), **said}
        case n.Linear(source, action):
            return {"kind": "linear", "source": source, "action": _action_json(action, function)}
        case n.Concat(sources):
            return {"kind": "concat", "sources": list(sources)}
        case n.Arrange(source, key):
            return {"kind": "arrange", "source": source, "key": list(key)}
        case n.Join(left, right, columns):
            return {"kind": "join", "left": left, "right": right, "columns": [list(column) for column in columns]}
        case n.Reduce(source, key, reducer, schema):
            written = _reducer_json(reducer, function)
            return {
                "kind": "reduce",
                "source": source,
                "key": list(key),
                "reducer": written,
                "schema": schema_json(schema),
            }
        case n.Feedback(start, loop, index):
            return {"kind": "feedback", "start": start, "loop": loop, "index": index}
        case n.Output(name, source, changes):
            return {"kind": "output", "output": name, "source": source, "changes": changes}


def _action_json(action: n.Action, function: Callable[[n.Function], Any]) -> Json:
    match action:
        case n.Map(columns):
            return {"do": "map", "columns": [[name, expr_json(expr)] for name, expr in columns]}
        case n.Filter(condition):
            return {"do": "filter", "condition": expr_json(condition)}
        case n.Apply(own, how, schema):
            return {"do": "apply", "function": function(own), "how": how, "schema": schema_json(schema)}
        case n.Inspect(own):
            return {"do": "inspect", "function": function(own)}
        case n.Negate():
            return {"do": "negate"}
        case n.Enter(loop):
            return {"do": "enter", "loop": loop}
        case n.Wait(column):
            return {"do": "wait", "column": column}
        case n.Leave(loop):
            return {"do": "leave", "loop": loop}
        case n.Delay(times):
            return {"do": "delay", "times": [expr_json(time) for time in times]}


def _reducer_json(reducer: n.Reducer, function: Callable[[n.Function], Any]) -> Json:
    match reducer:
        case n.Threshold(own):
            return {"by": "threshold", "function": None if own is None else function(own)}
        case n.Aggregates(aggregates):
            asked = [[a.op, a.column, a.name, *([] if a.by is None else [a.by])] for a in aggregates]
            return {"by": "aggregates", "aggregates": asked}
        case n.Top(first, order):
            return {"by": "top", "n": first, "order": [[name, down] for name, down in order]}
        case n.Window(order, functions):
            return {"by": "window", "order": [list(each) for each in order], "functions": list(map(_over, functions))}
        case n.Own(own, how, schema):
            return {"by": "own", "function": function(own), "how": how, "schema": schema_json(schema)}


def _over(function: n.WindowFunction) -> Json:
    frame = function.frame
    return {
        "op": function.op,
        "column": function.column,
        "name": function.name,
        "frame": None if frame is None else [frame.unit, value_json(frame.start), value_json(frame.end)],
        "number": function.number,
        "default": function.default,
        "skips_nulls": function.skips_nulls,
    }


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
    match entry["kind"]:
        case "input":
            rows = None if "rows" not in entry else tuple(tuple(map(_value, row)) for row in entry["rows"])
            return n.Input(entry["input"], schema_from(entry["schema"]), tuple(entry["key"]), rows)
        case "linear":
            return n.Linear(entry["source"], _action(entry["action"], own))
        case "concat":
            return n.Concat(tuple(entry["sources"]))
        case "arrange":
            return n.Arrange(entry["source"], tuple(entry["key"]))
        case "join":
            return n.Join(entry["left"], entry["right"], tuple((name, side, at) for name, side, at in entry["columns"]))
        case "reduce":
            reducer = _reducer(entry["reducer"], own)
            return n.Reduce(entry["source"], tuple(entry["key"]), reducer, schema_from(entry["schema"]))
        case "feedback":
            return n.Feedback(entry["start"], entry["loop"], entry["index"])
        case "output":
            return n.Output(entry["output"], entry["source"], entry["changes"])
    raise PlanError(f'The plan has a node of the kind "{entry["kind"]}", which this version does not know.')


def _action(entry: Json, own: list[n.Function]) -> n.Action:
    match entry["do"]:
        case "map":
            return n.Map(tuple((name, _expr(expr)) for name, expr in entry["columns"]))
        case "filter":
            return n.Filter(_expr(entry["condition"]))
        case "apply":
            return n.Apply(own[entry["function"]], entry["how"], schema_from(entry["schema"]))
        case "inspect":
            return n.Inspect(own[entry["function"]])
        case "negate":
            return n.Negate()
        case "enter":
            return n.Enter(entry["loop"])
        case "wait":
            return n.Wait(entry["column"])
        case "leave":
            return n.Leave(entry["loop"])
        case "delay":
            return n.Delay(tuple(map(_expr, entry["times"])))
    raise PlanError(f'The plan does "{entry["do"]}" to rows, which this version does not know.')


def _reducer(entry: Json, own: list[n.Function]) -> n.Reducer:
    match entry["by"]:
        case "threshold":
            return n.Threshold(None if entry["function"] is None else own[entry["function"]])
        case "aggregates":
            return n.Aggregates(tuple(n.Aggregate(*each) for each in entry["aggregates"]))
        case "top":
            return n.Top(entry["n"], tuple((name, down) for name, down in entry["order"]))
        case "window":
            by = tuple((name, down, last) for name, down, last in entry["order"])
            return n.Window(by, tuple(map(_window_function, entry["functions"])))
        case "own":
            return n.Own(own[entry["function"]], entry["how"], schema_from(entry["schema"]))
    raise PlanError(f'The plan reduces by "{entry["by"]}", which this version does not know.')


def _window_function(entry: Json) -> n.WindowFunction:
    frame = entry["frame"]
    if frame is not None:
        unit, start, end = frame
        frame = n.Frame(unit, _number(start), _number(end))
    return n.WindowFunction(**{**entry, "frame": frame})


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
    if not text.startswith("decimal("):
        return Type(text)
    precision, scale = text.removeprefix("decimal(").removesuffix(")").split(",")
    return Type("decimal", int(precision), int(scale))


def schema_from(fields: list[list[str]]) -> Schema:
    return Schema(tuple(Field(name, _type(kind), not rest) for name, kind, *rest in fields))
