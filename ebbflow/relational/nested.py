"""Nested values in SQL: constructors and parts, arrays taken apart into rows, and aggregates that collect.

Rule: what is taken apart adds its columns at the end of the rows it is computed for, as a lateral view does.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ebbflow.columns.schema import STRING
from ebbflow.dataflow.aggregates import result_type
from ebbflow.dataflow.collecting import with_order
from ebbflow.expressions.operations import VOID, cast, typed
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.relational import algebra as a
from ebbflow.relational.aggregates import JOINED_TEXTS, Asked, pair
from ebbflow.relational.refusals import refused, says_only, unsupported
from ebbflow.relational.rows import Rows
from ebbflow.relational.scope import Known

Bind = Callable[[exp.Expression], Expr]

# ---- a row for each element -----------------------------------------------------------------

GENERATORS: dict[type[exp.Expression], tuple[bool, bool]] = {  # whether it has positions, whether it is outer
    exp.Explode: (False, False), exp.ExplodeOuter: (False, True),
    exp.Posexplode: (True, False), exp.PosexplodeOuter: (True, True),
    exp.Inline: (False, False), exp.Unnest: (False, False),
}  # fmt: skip


def is_generator(node: exp.Expression) -> bool:
    return type(node) in GENERATORS or (isinstance(node, exp.Anonymous) and node.name.lower() in NAMED_GENERATORS)


NAMED_GENERATORS = ("inline_outer", "explode_outer", "posexplode_outer")


def generated(rows: Rows, node: exp.Expression, called: str, renamed: list[str], is_outer: bool) -> None:
    """The rows with an array taken apart: one for each element, with the columns of the generator at their end."""
    array, has_position, outer, is_inline = _array_of(rows, node)
    if array.type.name not in ("array", "map"):
        raise refused(f"an array is taken apart into rows, and this is a {array.type}", node, "split makes an array.")
    before = len(rows.relation.types)
    rows.relation = a.Explode(rows.relation, array, has_position, outer or is_outer)
    names = [*(["pos"] if has_position else []), *(["key", "value"] if array.type.name == "map" else ["col"])]
    if is_inline:
        if array.type.name != "array" or array.type.element.name != "struct":
            raise refused("inline takes an array of structs", node, "explode takes any array.")
        whole = a.column(before, array.type.element)
        names = [name for name, _ in array.type.element.parts]
        fields = [typed("get_field", (whole, Literal(name, STRING))) for name in names]
        rows.relation = a.Project(rows.relation, (*a.columns_of(rows.relation)[:before], *fields))
    new = rows.relation.types[before:]
    if isinstance(node, exp.Unnest) and called and not renamed:
        renamed = [called] if len(names) == 1 else []
    if renamed and len(renamed) > len(names):
        raise refused(f"{len(renamed)} names are given to {len(names)} columns", node, "Name as many as there are.")
    names = [*renamed, *names[len(renamed) :]]
    rows.scope.columns += [Known(called, name, before + i, kind) for i, (name, kind) in enumerate(zip(names, new))]


def _array_of(rows: Rows, node: exp.Expression) -> tuple[Expr, bool, bool, bool]:
    """What is taken apart, whether with positions, whether it is outer, whether its structs become columns."""
    word = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    if isinstance(node, exp.Unnest):
        says_only(node, {"expressions", "alias"})
        if len(node.expressions) != 1:
            raise unsupported(node, "unnest of several arrays")
        return rows.expr(node.expressions[0]), False, False, False
    position, outer = GENERATORS.get(type(node), (word.startswith("pos"), word.endswith("outer")))
    inside = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
    return rows.expr(inside), position, outer, isinstance(node, exp.Inline) or word.startswith("inline")


def with_generators(rows: Rows, query: exp.Select) -> exp.Select:
    """The query with the columns of a generator in its select in place of the generator."""
    found = [part for part in query.expressions if is_generator(_inside(part))]
    if not found:
        return query
    if len(found) > 1:
        raise refused("select takes one array apart, and this is another one", found[1], "Use lateral view.")
    if query.args.get("group") is not None:
        raise refused("an array is taken apart behind group by", found[0], "Do it in a query around this one.")
    (part,) = found
    hidden, before = "\0generated", len(rows.scope.columns)
    generated(rows, _inside(part), hidden, [], False)
    made = rows.scope.columns[before:]
    names = [column.name for column in made]
    if isinstance(part, exp.Aliases):
        names = [each.name for each in part.expressions]
    elif isinstance(part, exp.Alias):
        names = [part.alias]
    if len(names) != len(made):
        raise refused(f"{len(names)} names are given to {len(made)} columns", part, "Name as many as there are.")
    rows.scope.columns[before:] = [Known(hidden, c.name, c.position, c.type, True) for c in made]
    shown = []
    for one in query.expressions:
        if one is not part:
            shown.append(one)
            continue
        shown += [exp.alias_(exp.column(c.name, table=hidden), name) for c, name in zip(made, names)]
    changed = query.copy()
    changed.set("expressions", [each.copy() for each in shown])
    return changed


def _inside(part: exp.Expression) -> exp.Expression:
    return part.this if isinstance(part, exp.Alias | exp.Aliases) else part


# ---- aggregates -----------------------------------------------------------------------------

FIRST_OR_LAST = {exp.First: "first", exp.Last: "last", exp.FirstValue: "first", exp.LastValue: "last"}
COLLECTING: dict[type[exp.Expression], str] = {
    exp.ArrayAgg: "collect_list", exp.ArrayUniqueAgg: "collect_set", exp.GroupConcat: "string_agg", **FIRST_OR_LAST,
}  # fmt: skip


def is_collecting(node: exp.Expression) -> bool:
    if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
        return type(node.this) in FIRST_OR_LAST
    return type(node) in COLLECTING


def collected(rows: Rows, node: exp.Expression, condition: Expr | None) -> Asked:
    """array_agg(distinct x order by y), string_agg(x, ','), first(x) ignore nulls."""
    skips = isinstance(node, exp.IgnoreNulls)
    if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
        node = node.this
    says_only(node, {"this", "nulls_excluded", "separator", "expression", "on_overflow"})
    op, inside = COLLECTING[type(node)], node.this
    order: list[tuple[Expr, bool, bool]] = []
    if isinstance(inside, exp.Order):
        order = [_ordered(rows, part) for part in inside.expressions]
        inside = inside.this
    if isinstance(inside, exp.Distinct):
        if len(inside.expressions) != 1:
            raise unsupported(node, "several values collected")
        inside, op = inside.expressions[0], {"collect_list": "collect_set", "string_agg": "string_set"}.get(op, op)
    value = rows.expr(inside)
    if value.type == VOID:
        value = cast(value, STRING)
    if type(node) in FIRST_OR_LAST:
        if not order:
            end = "min" if op == "first" else "max"  # rows have no order: the least and the largest value
            return Asked(end, (value if condition is None else _where(condition, value),), value.type)
        if condition is not None and not skips:
            raise unsupported(node, f"{op} of nulls with a filter")
        op = f"{op}_not_null" if skips else op
    if op in JOINED_TEXTS and value.type != STRING:
        value = cast(value, STRING)
    if op in ("collect_set", "string_set") and any(expr != value for expr, _, _ in order):
        raise refused("different values are ordered by themselves", node, "Order by the value that is collected.")
    if condition is not None:
        value = _where(condition, value)
    kept = JOINED_TEXTS.get(op, op)
    named = with_order(kept, tuple((down, not first) for _, down, first in order))
    by = [part for i, (expr, _, _) in enumerate(order) for part in (Literal(f"{i}", STRING), expr)]
    of = pair(value, typed("named_struct", by)) if by else value
    if op in JOINED_TEXTS:
        delimiter = node.args.get("separator")
        return Asked(op, (of, Literal(named, STRING), _delimiter(rows, delimiter)), STRING)
    return Asked(named, (of,), result_type(named, value.type))


def _where(condition: Expr, value: Expr) -> Expr:
    return typed("when", (condition, value, Literal(None, value.type)))


def _delimiter(rows: Rows, node: exp.Expression | None) -> Expr:
    found = Literal("", STRING) if node is None else rows.expr(node)
    if not isinstance(found, Literal):
        assert node is not None
        raise refused("the delimiter is plain text", node, "Write the text itself.")
    return Literal("" if found.value is None else found.value, STRING)


def _ordered(rows: Rows, part: exp.Expression) -> tuple[Expr, bool, bool]:
    down = bool(part.args.get("desc"))
    return rows.expr(part.this), down, bool(part.args.get("nulls_first", not down))
