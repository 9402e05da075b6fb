"""Nested values in Catalyst's plans: constructors and parts, arrays taken apart, and aggregates that collect.

Most are rows of the table, as other functions are.  What Spark raises an error for in its ANSI mode, an element behind
the end of an array, refuses the step.

Rule: a function with a lambda is recognised where it is one of the table (`array_sort(x)`, `array_compact(x)`), and
refused by name everywhere else.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from ebbflow.columns.ranges import EPOCH
from ebbflow.columns.schema import DATE, INT, LONG, STRING, Type, array_of, struct_of
from ebbflow.dataflow.aggregates import result_type
from ebbflow.dataflow.collecting import with_order
from ebbflow.expressions import guards
from ebbflow.expressions.operations import cast, typed
from ebbflow.expressions.typed import Call, Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational.aggregates import JOINED_TEXTS, Asked, pair, where
from ebbflow.relational.algebra import Relation
from ebbflow.relational.catalyst.refusals import refused, unsupported
from ebbflow.relational.catalyst.tree import Node
from ebbflow.relational.catalyst.types import type_of

Bind = Callable[[Node], Expr]
NESTED_OF_TABLE = {
    "CreateArray": "array", "CreateMap": "create_map", "CreateNamedStruct": "named_struct",
    "ArrayContains": "array_contains", "ArrayPosition": "array_position", "ArrayRemove": "array_remove",
    "ArrayDistinct": "array_distinct", "ArrayUnion": "array_union", "ArrayIntersect": "array_intersect",
    "ArrayExcept": "array_except", "ArraysOverlap": "arrays_overlap", "ArrayJoin": "array_join",
    "ArrayMin": "array_min", "ArrayMax": "array_max", "ArrayRepeat": "array_repeat", "Slice": "slice",
    "Flatten": "flatten", "StringSplit": "split", "RegExpExtractAll": "regexp_extract_all",
    "MapKeys": "map_keys", "MapValues": "map_values", "MapEntries": "map_entries", "MapConcat": "map_concat",
    "MapFromArrays": "map_from_arrays", "MapFromEntries": "map_from_entries", "StringToMap": "str_to_map",
    "GetMapValue": "get_item", "GetJsonObject": "get_json_object", "SortArray": "sort_array",
}  # fmt: skip
JSON_METHODS = {
    "JsonExpressionUtils.lengthOfJsonArray": ("json_array_length", 1),
    "JsonExpressionUtils.jsonObjectKeys": ("json_object_keys", 1),
}
LAMBDAS = "Take the array apart with explode, compute, and collect_list it again; or use a collection's map_rows."
DEFAULT_ORDER = "If(LessThan(A, B), -1, If(GreaterThan(A, B), 1, 0))"
NATURAL = (  # how array_sort(x) compares two elements: that may be null, and that are never
    f"If(And(IsNull(A), IsNull(B)), 0, If(IsNull(A), 1, If(IsNull(B), -1, {DEFAULT_ORDER})))",
    DEFAULT_ORDER,
)


def _shape(function: Node) -> str:
    """What a lambda computes, its variables by their places."""
    body, *variables = function.children
    names = {one.id: "AB"[i] for i, one in enumerate(variables[:2])}

    def said(node: Node) -> str:
        if node.kind == "NamedLambdaVariable":
            return names.get(node.id, "?")
        if node.kind == "Literal":
            return str(node["value"])
        return f"{node.kind}({', '.join(map(said, node.children))})"

    return said(body)


# ---- values -----------------------------------------------------------------------------------------------


def constant(value: Any, kind: Type, java: Any, node: Node) -> Expr:
    """A nested constant, from Spark's own form of it.  java: its type, which says how Spark's form is read."""
    if value is None:
        return Literal(None, kind)
    if kind.name == "array":
        of = java.elementType()
        parts = [constant(part, kind.element, of, node) for part in value.toObjectArray(of)]
        return typed("array", parts) if parts else Call("array", (), kind)
    if kind.name == "map":
        both = ((value.keyArray(), java.keyType()), (value.valueArray(), java.valueType()))
        columns = [
            [constant(part, one, of, node) for part in array.toObjectArray(of)]
            for (array, of), (_, one) in zip(both, kind.parts, strict=True)
        ]
        entries = [part for pair in zip(*columns, strict=True) for part in pair]
        return typed("create_map", entries) if entries else Call("create_map", (), kind)
    if kind.name == "struct":
        named: list[Expr] = []
        for (name, of), field in zip(kind.parts, java.fields(), strict=True):
            held = value.get(len(named) // 2, field.dataType())
            named += [Literal(name, STRING), constant(held, of, field.dataType(), node)]
        return typed("named_struct", named)
    if kind == STRING:
        return Literal(str(value), kind)
    if kind.is_integer or kind.is_float or kind.name == "boolean":
        return Literal(value, kind)
    if kind.name == "decimal":
        return Literal(value.toJavaBigDecimal(), kind)
    if kind == DATE:
        return Literal(datetime.date(1970, 1, 1) + datetime.timedelta(days=value), kind)
    if kind.is_timestamp:
        return Literal(EPOCH + datetime.timedelta(microseconds=value), kind)
    raise unsupported(node, f"a constant of type {kind}", "Give it as a column of a table.")


def _field(node: Node, bind: Bind) -> Expr:
    held = bind(node.children[0])
    parts = held.type.element.parts if held.type.name == "array" else held.type.parts
    at = node["ordinal"]
    name = parts[int(at)][0] if at is not None else str(node["field"]["name"])
    return typed("get_field", (held, Literal(name, STRING)))


def _element(node: Node, bind: Bind) -> Expr:
    """x[0]: beyond the ends, an error in ANSI mode and null without."""
    array, at = (bind(child) for child in node.children)
    found = typed("get", (array, at))
    if node["failOnError"] is not True:
        return found
    size = typed("size", (array,))
    wrong = typed("or", (typed("lt", (at, Literal(0, LONG))), typed("ge", (at, size))))
    return guards.unless(wrong, found)


def element_at(node: Node, bind: Bind) -> Expr:
    """element_at(x, 1) of an array, or of a map, where a key that is not there is null."""
    held, at = (bind(child) for child in node.children[:2])
    found = typed("element_at", (held, at))
    if held.type.name == "map" or node["failOnError"] is not True:
        return found
    far = typed("gt", (typed("abs", (at,)), typed("size", (held,))))
    return guards.unless(typed("or", (far, guards.is_zero(at))), found)


def size(node: Node, bind: Bind) -> Expr:
    found = typed("size", (bind(node.children[0]),))
    return typed("coalesce", (found, Literal(-1, INT))) if node["legacySizeOfNull"] is True else found


def _inserted(node: Node, bind: Bind) -> Expr:
    """array_insert, and what Spark makes of array_append and array_prepend."""
    if node["legacyNegativeIndex"] is True:
        raise unsupported(node, "array_insert with the negative positions of Spark 3")
    return typed("array_insert", [bind(child) for child in node.children])


def _zipped(node: Node, bind: Bind) -> Expr:
    found = typed("arrays_zip", [bind(child) for child in node.children[: len(node["names"])]])
    assert isinstance(found, Call)
    names = [str(name["value"]) for name in node["names"]]
    fields = zip(names, (kind for _, kind in found.type.element.parts), strict=True)
    return Call(found.op, found.args, array_of(struct_of(*fields)), found.options)


def _in_order(node: Node, bind: Bind) -> Expr:
    if _shape(node.children[1]) not in NATURAL:
        raise unsupported(node, "array_sort by a function of one's own", LAMBDAS)
    return typed("array_sort", (bind(node.children[0]),))


def _kept(node: Node, bind: Bind) -> Expr:
    if _shape(node.children[1]) != "IsNotNull(A)":
        raise unsupported(node, "filter of an array by a function", LAMBDAS)
    return typed("array_compact", (bind(node.children[0]),))


def _with_lambda(node: Node, bind: Bind) -> Expr:
    raise unsupported(node, f"{node.java.prettyName()!s} by a function", LAMBDAS)


def _read_json(node: Node, bind: Bind) -> Expr:
    if not node.java.options().isEmpty():
        raise unsupported(node, "from_json with options", "Leave them out.")
    schema = Literal(_ddl(node), STRING)
    return typed("from_json", (bind(node.children[0]), schema))


def _ddl(node: Node) -> str:
    return str(node.java.schema().sql())


def _invoked(node: Node, bind: Bind) -> Expr:
    """What Spark replaces by a call of Java, by the name of what a person wrote."""
    if node.written is None or node.written.kind != "StructsToJson":
        raise unsupported(node)
    if not node.written.java.options().isEmpty():
        raise unsupported(node, "to_json with options", "Leave them out.")
    return typed("to_json", (bind(node.children[1]),))


NESTED_FUNCTIONS: dict[str, Callable[[Node, Bind], Expr]] = {
    "GetStructField": _field, "GetArrayStructFields": _field, "GetArrayItem": _element, "ArrayInsert": _inserted,
    "ArraysZip": _zipped, "ArraySort": _in_order, "ArrayFilter": _kept, "JsonToStructs": _read_json,
    "Invoke": _invoked, "KnownNotContainsNull": lambda node, bind: bind(node.children[0]),
    **dict.fromkeys(
        ("ArrayTransform", "ArrayExists", "ArrayForAll", "ArrayAggregate", "ZipWith", "TransformKeys",
         "TransformValues", "MapFilter", "MapZipWith"), _with_lambda),
}  # fmt: skip

# ---- a row for each element -------------------------------------------------------------------------------

TAKEN_APART_BY = {"Explode": False, "PosExplode": True, "Inline": False}  # whether it has positions


def taken_apart(relation: Relation, node: Node, array: Expr) -> Relation:
    """The rows with what a generator makes of an array at their end.  node: the whole `Generate`."""
    generator = node["generator"]
    made = a.Explode(relation, array, TAKEN_APART_BY[generator.kind], node["outer"] is True)
    if generator.kind != "Inline":
        return made
    width = len(relation.types)
    whole = a.column(width, array.type.element)
    fields = [typed("get_field", (whole, Literal(name, STRING))) for name, _ in array.type.element.parts]
    return a.Project(made, (*a.columns_of(relation), *fields))


def repeated(relation: Relation, node: Node, given: list[Expr]) -> Relation:
    """What Spark makes of `exceptAll` and `intersectAll`: each row as often as a column of it says."""
    count, *columns = given
    made = a.Explode(relation, typed("array_repeat", (Literal(1, INT), count)), False, False)
    return a.Project(made, (*a.columns_of(relation), *columns))


def stacked(relation: Relation, node: Node, given: list[Expr]) -> Relation:
    """`stack(2, a, b, c, d)`: so many rows of each, which have the values in turn."""
    count, *values = given
    assert isinstance(count, Literal) and isinstance(count.value, int), "Spark refuses a number that is computed"
    kinds = [type_of(one["dataType"], one) for one in node["generatorOutput"]]
    own, parts = a.columns_of(relation), []
    for i in range(count.value):
        mine: list[Expr] = list(values[i * len(kinds) : (i + 1) * len(kinds)])
        mine += [Literal(None, kind) for kind in kinds[len(mine) :]]
        parts.append(a.Project(relation, (*own, *(cast(one, kind) for one, kind in zip(mine, kinds)))))
    return parts[0] if len(parts) == 1 else a.Union(tuple(parts))


SEVERAL_ROWS: dict[str, Callable[[Relation, Node, list[Expr]], Relation]] = {
    "ReplicateRows": repeated,
    "Stack": stacked,
}

# ---- aggregates -------------------------------------------------------------------------------------------

COLLECTED_BY = {"CollectList": "collect_list", "CollectSet": "collect_set", "ListAgg": "string_agg"}


def collected(function: Node, bind: Bind, condition: Expr | None, is_distinct: bool) -> Asked:
    """collect_list, collect_set and listagg; without an order, in that of the values."""
    op = COLLECTED_BY[function.kind]
    if function["ignoreNulls"] is False:
        raise unsupported(function, "collecting nulls", "Leave `respect nulls` out.")
    if is_distinct:
        op = {"collect_list": "collect_set", "string_agg": "string_set"}.get(op, op)
    value = bind(function.children[0])
    order = [
        (bind(one.children[0]), one["direction"] == "Descending", one["nullOrdering"] == "NullsFirst")
        for one in function.children
        if one.kind == "SortOrder"
    ]
    if op in ("collect_set", "string_set") and any(expr != value for expr, _, _ in order):
        raise refused("different values are ordered by themselves", function, "Order by the value that is collected.")
    if op in JOINED_TEXTS and value.type != STRING:
        raise unsupported(function, f"listagg of {value.type}", "Cast it to string.")
    if condition is not None:
        value = where(condition, value)
    named = with_order(JOINED_TEXTS.get(op, op), tuple((down, not first) for _, down, first in order))
    by = [part for i, (expr, _, _) in enumerate(order) for part in (Literal(f"{i}", STRING), expr)]
    of = pair(value, typed("named_struct", by)) if by else value
    if op not in JOINED_TEXTS:
        return Asked(named, (of,), result_type(named, value.type))
    delimiter = bind(function.children[1])
    if not isinstance(delimiter, Literal):
        raise refused("the delimiter is plain text", function, "Write the text itself.")
    return Asked(op, (of, Literal(named, STRING), Literal(delimiter.value or "", STRING)), STRING)
