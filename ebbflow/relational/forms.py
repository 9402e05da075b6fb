"""What SQL has a form of its own for: constants, `case`, `cast`, `in`, `between`, `is null`, and parts of values.

The functions that sqlglot reads into a class each are here too.

Rule: a class is one line of the table; a function that has no class of its own is found by its name.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import reduce

from sqlglot import exp

from ebbflow.columns import ddl
from ebbflow.columns.schema import BOOLEAN, DATE, DOUBLE, LONG, STRING
from ebbflow.errors import EbbflowError, did_you_mean
from ebbflow.expressions.operations import VOID, cast, typed
from ebbflow.expressions.resolve import literal
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.limits import LARGEST_WORD
from ebbflow.relational.functions import BY_NAME, Bind, called, check_number, part_of
from ebbflow.relational.lengths import difference, duration, is_interval, part_of_length, sequence_of
from ebbflow.relational.operators import alike, cast_value, compared_rows, is_row
from ebbflow.relational.refusals import WAYS as FOREIGN
from ebbflow.relational.refusals import refused, unsupported


def _literal(node: exp.Expression, bind: Bind) -> Expr:
    text = node.this
    if node.args.get("is_string"):
        return Literal(text, STRING)
    if any(letter in text for letter in "eE"):
        return Literal(float(text), DOUBLE)
    is_long = "." not in text and int(text) <= LARGEST_WORD
    return literal(int(text)) if is_long else literal(Decimal(text))  # a whole number beyond a long is a decimal


def _case(node: exp.Expression, bind: Bind) -> Expr:
    parts: list[Expr] = []
    subject = node.args.get("this")
    for branch in node.args["ifs"]:
        if subject is None:
            parts.append(bind(branch.this))
        else:
            parts.append(typed("eq", alike(bind(subject), bind(branch.this))))
        parts.append(bind(branch.args["true"]))
    default = node.args.get("default")
    parts.append(Literal(None, VOID) if default is None else bind(default))
    return typed("when", parts)


def _if(node: exp.Expression, bind: Bind) -> Expr:
    other = node.args.get("false")
    return typed(
        "when", (bind(node.this), bind(node.args["true"]), Literal(None, VOID) if other is None else bind(other))
    )


def _several(op: str) -> Callable[[exp.Expression, Bind], Expr]:
    def made(node: exp.Expression, bind: Bind) -> Expr:
        first = [] if node.args.get("this") is None else [node.this]
        return typed(op, [bind(part) for part in [*first, *node.expressions]])

    return made


def _cast(node: exp.Expression, bind: Bind) -> Expr:
    written = node.args["to"].sql(dialect="spark")
    try:
        target = ddl.type_of(written)
    except EbbflowError as problem:
        raise refused(problem.what, node, problem.hint) from None
    inside = bind(node.this)
    if isinstance(inside, Literal) and isinstance(inside.value, str) and target == DATE:
        folded = cast_value(inside, target)
        if folded is not None:
            return folded
    return cast(inside, target)


def _in(node: exp.Expression, bind: Bind) -> Expr:
    if is_row(node.this):
        rows = [compared_rows(exp.EQ(this=node.this, expression=choice), bind) for choice in node.expressions]
        return reduce(lambda one, two: typed("or", (one, two)), rows)
    value = bind(node.this)
    choices = [bind(choice) for choice in node.expressions]
    if any(not isinstance(choice, Literal) for choice in choices):
        parts = [typed("eq", alike(value, choice)) for choice in choices]
        found = parts[0]
        for part in parts[1:]:
            found = typed("or", (found, part))
        return found
    return typed("is_in", [value, *(alike(value, choice)[1] for choice in choices)])


def _is(node: exp.Expression, bind: Bind) -> Expr:
    other = node.expression
    if isinstance(other, exp.Null):
        return typed("is_null", (bind(node.this),))
    if isinstance(other, exp.Boolean):
        return typed("eq_null_safe", (bind(node.this), Literal(bool(other.this), BOOLEAN)))
    raise unsupported(node)


def _between(node: exp.Expression, bind: Bind) -> Expr:
    if is_interval(node.args["low"]) or is_interval(node.args["high"]):
        length, first, last = (duration(part, bind) for part in (node.this, node.args["low"], node.args["high"]))
        return typed("and", (typed("ge", (length, first)), typed("le", (length, last))))
    value = bind(node.this)
    low, high = alike(value, bind(node.args["low"])), alike(value, bind(node.args["high"]))
    return typed("and", (typed("ge", low), typed("le", high)))


def _text(expr: Expr) -> Expr:
    return cast(expr, STRING) if expr.type not in (STRING, VOID) else expr


def _joined(node: exp.Expression, bind: Bind) -> Expr:
    parts = [node.this, node.expression] if isinstance(node, exp.DPipe) else node.expressions
    values = [bind(part) for part in parts]
    if any(value.type.name == "array" for value in values):
        return typed("concat", values)
    return typed("concat", [_text(value) for value in values])


def _substring(node: exp.Expression, bind: Bind) -> Expr:
    if node.args.get("start") is None:
        raise refused("substring takes 2 to 3 values, and is given 1", node, "substring(s, start, length)")
    length = node.args.get("length")
    many = Literal(2**31 - 1, LONG) if length is None else bind(length)
    return typed("substr", (bind(node.this), bind(node.args["start"]), many))


def _left(node: exp.Expression, bind: Bind) -> Expr:
    return typed("substr", (bind(node.this), Literal(1, LONG), bind(node.expression)))


def _trim(node: exp.Expression, bind: Bind) -> Expr:
    side = (node.args.get("position") or "BOTH").upper()
    given = [node.this] if node.args.get("expression") is None else [node.this, node.expression]
    return typed({"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side, "trim"), [_text(bind(part)) for part in given])


def _round(node: exp.Expression, bind: Bind) -> Expr:
    digits = node.args.get("decimals")
    return typed("round", (bind(node.this), Literal(0, LONG) if digits is None else bind(digits)))


def _whole(op: str) -> Callable[[exp.Expression, Bind], Expr]:
    def made(node: exp.Expression, bind: Bind) -> Expr:
        digits = node.args.get("decimals")
        value = bind(node.this)
        return typed(op, (value,)) if digits is None else called(f"{op}_to", node, [value, bind(digits)])

    return made


def _nullif(node: exp.Expression, bind: Bind) -> Expr:
    value = bind(node.this)
    return typed("when", (typed("eq", alike(value, bind(node.expression))), Literal(None, value.type), value))


def _extract(node: exp.Expression, bind: Bind) -> Expr:
    if (length := difference(node.expression, bind)) is not None:
        return part_of_length(node.this.name, length, node)
    return part_of(node.this.name, bind(node.expression), node)


def _by_name(node: exp.Expression, bind: Bind) -> Expr:
    """A function as it was written."""
    name = node.name.lower()
    made = BY_NAME.get(name)
    if made is None:
        near = did_you_mean(name, list(BY_NAME)) if name not in FOREIGN else None
        raise unsupported(node, hint=near)
    check_number(name, node)
    if name == "sequence" and len(node.expressions) == 3 and is_interval(node.expressions[2]):
        return sequence_of(node, bind)
    return made(node, node.expressions, bind)


def _ilike(node: exp.Expression, bind: Bind) -> Expr:
    pattern = bind(node.expression)
    if isinstance(pattern, Literal) and isinstance(pattern.value, str):
        pattern = Literal(pattern.value.lower(), STRING)
    found = typed("like", (typed("lower", (bind(node.this),)), pattern))
    return typed("not", (found,)) if node.args.get("negate") else found


def _position(node: exp.Expression, bind: Bind) -> Expr:
    start = [bind(node.args["position"])] if node.args.get("position") else []
    return called("locate", node, [bind(node.args["substr"]), bind(node.this), *start])


def _negative(node: exp.Expression, bind: Bind) -> Expr:
    value = bind(node.this)
    if isinstance(value, Literal) and isinstance(value.value, int | float | Decimal):
        return Literal(-value.value, value.type)
    return typed("neg", (value,))


def _overlay(node: exp.Expression, bind: Bind) -> Expr:
    parts = [node.this, node.expression, node.args["from_"], *([node.args["for_"]] if node.args.get("for_") else [])]
    return called("overlay", node, [bind(part) for part in parts])


def _replace(node: exp.Expression, bind: Bind) -> Expr:
    by = node.args.get("replacement")
    return typed("replace", (bind(node.this), bind(node.expression), Literal("", STRING) if by is None else bind(by)))


def _int_div(node: exp.Expression, bind: Bind) -> Expr:
    """Towards zero, as Spark's `div`; ours rounds down."""
    left, right = bind(node.this), bind(node.expression)
    size = typed("floordiv", (typed("abs", (left,)), typed("abs", (right,))))
    zero = Literal(0, LONG)
    opposite = typed("ne", (typed("lt", (left, zero)), typed("lt", (right, zero))))
    return typed("when", (opposite, typed("neg", (size,)), size))


def _item(node: exp.Expression, bind: Bind) -> Expr:
    """x[i], counted from 0; m[key]; array[a, b], where no column has that name."""
    if isinstance(node.this, exp.Column) and node.this.name.lower() == "array" and not node.this.args.get("table"):
        try:
            bind(node.this)
        except EbbflowError:
            return typed("array", [bind(each) for each in node.expressions])
    if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Slice):
        raise unsupported(node, "a part of this kind")
    return typed("get_item", (bind(node.this), bind(node.expressions[0])))


def _field(node: exp.Expression, bind: Bind) -> Expr:
    """x.field, of what is no column's name."""
    if not isinstance(node.expression, exp.Identifier):
        raise unsupported(node, "a part of this kind")
    return typed("get_field", (bind(node.this), Literal(node.expression.name, STRING)))


FORMS: dict[type[exp.Expression], Callable[[exp.Expression, Bind], Expr]] = {
    exp.Literal: _literal,
    exp.Null: lambda node, bind: Literal(None, VOID),
    exp.Boolean: lambda node, bind: Literal(bool(node.this), BOOLEAN),
    exp.Paren: lambda node, bind: bind(node.this),
    exp.Case: _case,
    exp.If: _if,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.In: _in,
    exp.Is: _is,
    exp.Between: _between,
    exp.Coalesce: _several("coalesce"),
    exp.Greatest: _several("greatest"),
    exp.Least: _several("least"),
    exp.Concat: _joined,
    exp.DPipe: _joined,
    exp.Substring: _substring,
    exp.Left: _left,
    exp.Trim: _trim,
    exp.Round: _round,
    exp.Floor: _whole("floor"),
    exp.Ceil: _whole("ceil"),
    exp.Nullif: _nullif,
    exp.Extract: _extract,
    exp.Replace: _replace,
    exp.IntDiv: _int_div,
    exp.Anonymous: _by_name,
    exp.Bracket: _item,
    exp.Dot: _field,
    exp.Array: lambda node, bind: typed("array", [bind(each) for each in node.expressions]),
    exp.ILike: _ilike,
    exp.Overlay: _overlay,
    exp.StrPosition: _position,
    exp.Neg: _negative,
    exp.Contains: lambda node, bind: typed("contains", (bind(node.this), bind(node.expression))),
}
