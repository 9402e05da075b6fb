"""SQL's expressions, as sqlglot reads them, made into typed ones of ours.

An operator or a function is one line of a table here: the operation of ours, or a few of them put together.

Rule: what has no line is refused by name and place before anything is built.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import reduce

from sqlglot import exp

from ebbflow.columns import ddl
from ebbflow.columns.schema import BOOLEAN, DATE, DOUBLE, LONG, STRING, TIMESTAMP, Type
from ebbflow.errors import EbbflowError, TypeMismatch, did_you_mean
from ebbflow.expressions import guards, value_casts
from ebbflow.expressions.operations import MOMENTS, VOID, cast, common_type, evaluate, typed
from ebbflow.expressions.resolve import literal
from ebbflow.expressions.typed import Call, Expr, Literal
from ebbflow.limits import LARGEST_WORD
from ebbflow.relational.functions import BY_NAME, NamedAggregate, called, check_number, later, part_of
from ebbflow.relational.lengths import difference, duration, is_interval, part_of_length, terms
from ebbflow.relational.refusals import WAYS as FOREIGN
from ebbflow.relational.refusals import refused, unsupported, word_for

Bind = Callable[[exp.Expression], Expr]

BINARY: dict[type[exp.Expression], str] = {
    exp.Add: "add", exp.Sub: "sub", exp.Mul: "mul", exp.Div: "div", exp.Mod: "mod",
    exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge",
    exp.NullSafeEQ: "eq_null_safe", exp.NullSafeNEQ: "eq_null_safe", exp.And: "and", exp.Or: "or",
    exp.Like: "like", exp.Pow: "pow", exp.StartsWith: "starts_with", exp.EndsWith: "ends_with",
    exp.BitwiseAnd: "bitwise_and", exp.BitwiseOr: "bitwise_or", exp.BitwiseXor: "bitwise_xor",
    exp.BitwiseLeftShift: "shiftleft", exp.BitwiseRightShift: "shiftright", exp.RegexpLike: "regexp_like",
}  # fmt: skip
UNARY: dict[type[exp.Expression], str] = {
    exp.Not: "not", exp.Abs: "abs", exp.Sqrt: "sqrt", exp.Exp: "exp", exp.Ln: "log", exp.Sin: "sin",
    exp.Cos: "cos", exp.Tan: "tan", exp.Sign: "sign", exp.Lower: "lower", exp.Upper: "upper", exp.Length: "length",
    exp.IsNan: "is_nan", exp.BitwiseNot: "bitwise_not",
}  # fmt: skip
AGGREGATES: dict[type[exp.Expression], str] = {
    exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.AnyValue: "any_value",
    exp.CountIf: "count_if", exp.LogicalAnd: "min", exp.LogicalOr: "max", exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp", exp.StddevPop: "stddev_pop", exp.Variance: "var_samp", exp.VariancePop: "var_pop",
    NamedAggregate: "by name", exp.WithinGroup: "within group",
}  # fmt: skip
OPERATORS_OF_TABLE = ("bitwise_and", "bitwise_or", "bitwise_xor", "shiftleft", "shiftright", "regexp_like")
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)


REFUSES = "ansi"  # what is said of a quotient or a cast that refuses the step where it has no value


def ask_for_errors(query: exp.Expression) -> None:
    """In this query a division by zero and a cast that fails refuse the step, as in Spark's ANSI mode."""
    for node in query.find_all(exp.Div, exp.Mod, exp.IntDiv, exp.Cast):
        if isinstance(node, exp.Cast) and node.args.get("safe"):
            continue  # try_cast
        node.meta[REFUSES] = True


def bound(node: exp.Expression, bind: Bind) -> Expr:
    """An operator, a function or a constant; `bind` does the same for what is inside."""
    try:
        found = _bound(node, bind)
        return guards.guarded(found) if node.meta.get(REFUSES) else found
    except TypeMismatch as problem:
        what, hint = in_sql(problem.what, problem.hint)
        raise refused(what, node, hint) from None


SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "neg": "-", "eq": "=", "ne": "<>", "lt": "<",
    "le": "<=", "gt": ">", "ge": ">=", "eq_null_safe": "<=>", "when": "case", "is_in": "in",
}  # fmt: skip
WAYS_IN_SQL = {
    "takes numbers": "Cast text to a number: cast(s as double).  Days of dates: date_add(d, 1), datediff(a, b).",
    "takes conditions": "Compare it: a <> 0.",
    "of one type": "Cast one of them: cast(a as string).",
    "its pattern as plain text": "For text of a column: contains(s, x), startswith(s, x), endswith(s, x).",
    "takes a date or a timestamp": "Cast it: cast(s as date).",
    "takes dates": "Cast it: cast(s as date).",
    "cannot make": "Through text: cast(cast(a as string) as date).  Of dates: year(d), datediff(end, start).",
}


def in_sql(what: str, hint: str) -> tuple[str, str]:
    """A refusal of an expression in the words of a query.  The columns of a relation are positions, of which whoever
    wrote the query knows nothing.
    """
    what = re.sub(r"^(\w+)(?= takes)", lambda found: SIGNS.get(found[1], found[1]), what)
    what = re.sub(r'("[^"]*"|the value \S+) is a', "one is a", what)
    what = re.sub(r' of "[^"]*", a', " of a", what)
    what = re.sub(r'; got "[^"]*"', "; got an expression", what)
    return what, next((way for words, way in WAYS_IN_SQL.items() if words in what), hint)


# What may be said of a node beside `this`, `expression` and `expressions`.  Anything else that is said is refused: a
# word that nobody reads would be a wrong answer.
MAY_SAY: dict[type[exp.Expression], set[str]] = {
    exp.Like: {"negate"}, exp.Literal: {"is_string"}, exp.Case: {"ifs", "default"}, exp.If: {"true", "false"},
    exp.Cast: {"to", "_type", "safe"}, exp.TryCast: {"to", "_type", "safe", "requires_string"},
    exp.Between: {"low", "high"}, exp.Concat: {"safe", "coalesce"}, exp.DPipe: {"safe"},
    exp.Substring: {"start", "length"}, exp.Left: {"negative_length_returns_empty"}, exp.Trim: {"position"},
    exp.Round: {"decimals"}, exp.Floor: {"decimals"}, exp.Ceil: {"decimals"}, exp.TsOrDsAdd: {"unit"},
    exp.DateAdd: {"unit"}, exp.DateSub: {"unit"}, exp.DateDiff: {"unit"}, exp.TsOrDsDiff: {"unit"},
    exp.Replace: {"replacement"}, exp.Div: {"typed", "safe"}, exp.TsOrDsToDate: {"safe", "format"},
    exp.Mod: {"typed", "safe"}, exp.Interval: {"unit"}, exp.Coalesce: {"is_nvl", "is_null"},
    exp.Greatest: {"ignore_nulls"}, exp.Least: {"ignore_nulls"}, exp.Count: {"big_int"},
    exp.Length: {"binary", "encoding"}, exp.StrPosition: {"substr", "position"}, exp.Overlay: {"from_", "for_"},
    exp.ILike: {"negate"}, exp.RegexpLike: {"negate"}, exp.Bracket: {"offset", "safe"},
    exp.Array: {"value_constructor"},
}  # fmt: skip
EVERYTHING_SAYS = {"this", "expression", "expressions"}


def check_said(node: exp.Expression) -> None:
    """Refuse a node that says something which is not read here."""
    allowed = EVERYTHING_SAYS | MAY_SAY.get(type(node), set())
    more = [name for name, value in node.args.items() if value not in (None, False, []) and name not in allowed]
    if more:
        is_read = type(node) in BINARY or type(node) in UNARY or type(node) in FUNCTIONS or type(node) in AGGREGATES
        said = f"{word_for(node)} with {', '.join(more).replace('_', ' ')}" if is_read else None
        raise unsupported(node, said)


def _bound(node: exp.Expression, bind: Bind) -> Expr:
    kind = type(node)
    check_said(node)
    if kind in BINARY:
        return _binary(node, bind)
    if kind in UNARY:
        return typed(UNARY[kind], (bind(node.this),))
    if kind in FUNCTIONS:
        return FUNCTIONS[kind](node, bind)
    raise unsupported(node)


# ---- constants ------------------------------------------------------------------------------


def _literal(node: exp.Expression, bind: Bind) -> Expr:
    text = node.this
    if node.args.get("is_string"):
        return Literal(text, STRING)
    if any(letter in text for letter in "eE"):
        return Literal(float(text), DOUBLE)
    is_long = "." not in text and int(text) <= LARGEST_WORD
    return literal(int(text)) if is_long else literal(Decimal(text))  # a whole number beyond a long is a decimal


def constant(node: exp.Expression, bind: Bind, what: str) -> int:
    """A whole number that is the same for every row."""
    found = bind(node)
    if not isinstance(found, Literal) or not isinstance(found.value, int) or isinstance(found.value, bool):
        raise refused(f"{what} takes a plain whole number.", node, "Write the number itself.")
    return found.value


# ---- operators ------------------------------------------------------------------------------


def _binary(node: exp.Expression, bind: Bind) -> Expr:
    if isinstance(node, exp.Add | exp.Sub):
        for one, two in ((node.this, node.expression), (node.expression, node.this)):
            if is_interval(two) and not is_interval(one) and (isinstance(node, exp.Add) or one is node.this):
                return _later(bind(one), two, -1 if isinstance(node, exp.Sub) else 1, bind)
    if isinstance(node, COMPARISONS) and (is_interval(node.this) or is_interval(node.expression)):
        return typed(BINARY[type(node)], [duration(side, bind) for side in (node.this, node.expression)])
    if isinstance(node, COMPARISONS) and (_is_row(node.this) or _is_row(node.expression)):
        return _compared_rows(node, bind)
    left, right = bind(node.this), bind(node.expression)
    if isinstance(node, COMPARISONS):
        left, right = alike(left, right)
    if isinstance(node, exp.Add | exp.Sub) and left.type == DATE and right.type.is_integer:
        return typed("date_add", (left, typed("neg", (right,)) if isinstance(node, exp.Sub) else right))
    if isinstance(node, exp.Sub) and left.type == right.type == DATE:
        return typed("date_diff", (left, right))
    if isinstance(node, exp.Sub) and left.type in MOMENTS and right.type in MOMENTS:
        raise unsupported(node, "a length of time as a value", "Say in which unit: timestampdiff(second, start, end).")
    op = BINARY[type(node)]
    if op == "like" and VOID in (left.type, right.type):
        return Literal(None, BOOLEAN)
    found = called(op, node, (left, right)) if op in OPERATORS_OF_TABLE else typed(op, (left, right))
    is_negated = node.args.get("negate") or isinstance(node, exp.NullSafeNEQ)
    return typed("not", (found,)) if is_negated else found


def _is_row(node: exp.Expression) -> bool:
    while isinstance(node, exp.Paren):
        node = node.this
    return isinstance(node, exp.Tuple) or (isinstance(node, exp.Anonymous) and node.name.lower() == "row")


def _values_in(node: exp.Expression) -> list[exp.Expression]:
    """The values of a row, (a, b); a value alone is one."""
    while isinstance(node, exp.Paren):
        node = node.this
    return list(node.expressions) if _is_row(node) else [node]


def _compared_rows(node: exp.Expression, bind: Bind) -> Expr:
    """(a, b) = (c, d): value by value."""
    ours, theirs = _values_in(node.this), _values_in(node.expression)
    if len(ours) != len(theirs):
        raise refused(f"a row of {len(ours)} is compared with one of {len(theirs)}", node, "Compare as many values.")
    pairs = [alike(bind(one), bind(two)) for one, two in zip(ours, theirs)]
    op = BINARY[type(node)]
    if op in ("eq", "eq_null_safe"):
        same = reduce(lambda one, two: typed("and", (one, two)), [typed(op, pair) for pair in pairs])
        return typed("not", (same,)) if isinstance(node, exp.NullSafeNEQ) else same
    if op == "ne":
        return reduce(lambda one, two: typed("or", (one, two)), [typed("ne", pair) for pair in pairs])
    raise unsupported(node, "which of two rows is less", "Compare value by value: a > 1 or (a = 1 and b > 2).")


def alike(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Two sides of a comparison: text beside a number or a boolean is read as one, as Spark does."""
    for one, two in ((left, right), (right, left)):
        if one.type == STRING and (two.type.is_number or two.type == BOOLEAN):
            target = two.type if two.type == BOOLEAN or (two.type.is_integer and isinstance(one, Literal)) else DOUBLE
            read = cast(one, target) if not isinstance(one, Literal) else _read(one, target)
            return (read, right) if one is left else (left, read)
    return left, right


def _read(text: Literal, target: Type) -> Expr:
    value = text.value
    if isinstance(value, str) and target.is_integer and not value.strip().lstrip("+-").isdigit():
        target = DOUBLE
    return cast(text, target)


def _later(start: Expr, span: exp.Expression, sign: int, bind: Bind) -> Expr:
    """A moment, a length of time later or earlier: its months first, as they are written."""
    for amount, unit in terms(span, bind):
        start = _later_by(start, amount, unit, sign, span)
    return start


def _later_by(start: Expr, amount: Expr, unit: str, sign: int, span: exp.Expression) -> Expr:
    if isinstance(start, Call) and start.type == DATE and isinstance(start.args[0], Literal):
        folded = cast_value(start.args[0], start.type)
        start = start if folded is None else folded
    if isinstance(amount, Literal) and isinstance(amount.value, int):
        amount = Literal(sign * amount.value, LONG)
    elif sign < 0:
        amount = typed("neg", (amount,))
    found = later(start, amount, unit, span)
    if isinstance(start, Literal) and isinstance(amount, Literal) and start.type != TIMESTAMP:
        return Literal(evaluate(found, {}), found.type)
    return found


def cast_value(text: Literal, target: Type) -> Literal | None:
    value = value_casts.cast_value(text.value, str(target))
    return None if value is None else Literal(value, target)


# ---- functions ------------------------------------------------------------------------------


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
    if _is_row(node.this):
        rows = [_compared_rows(exp.EQ(this=node.this, expression=choice), bind) for choice in node.expressions]
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
    """x[i], counted from 0; m[key]."""
    if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Slice):
        raise unsupported(node, "a part of this kind")
    return typed("get_item", (bind(node.this), bind(node.expressions[0])))


def _field(node: exp.Expression, bind: Bind) -> Expr:
    """x.field, of what is no column's name."""
    if not isinstance(node.expression, exp.Identifier):
        raise unsupported(node, "a part of this kind")
    return typed("get_field", (bind(node.this), Literal(node.expression.name, STRING)))


FUNCTIONS: dict[type[exp.Expression], Callable[[exp.Expression, Bind], Expr]] = {
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


def unified(columns: Sequence[Sequence[Type]]) -> list[Type | None]:
    """For each position the type that all of these rows fit."""
    return [common_type(list(types)) for types in zip(*columns)]
