"""SQL's expressions, as sqlglot reads them, made into typed ones of ours, or refused in the words of a query.

An operator, a function or a constant is one line of a table: the operation of ours, or a few of them put together.

Rule: what has no line is refused by name and place before anything is built.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from ebbflow.columns.schema import Type
from ebbflow.errors import TypeMismatch
from ebbflow.expressions import guards
from ebbflow.expressions.operations import common_type, typed
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.relational.dialect import NamedAggregate
from ebbflow.relational.forms import FORMS
from ebbflow.relational.functions import Bind
from ebbflow.relational.operators import BINARY_OPERATORS, binary
from ebbflow.relational.refusals import refused, unsupported, word_for

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
        is_read = (
            type(node) in BINARY_OPERATORS or type(node) in UNARY or type(node) in FORMS or type(node) in AGGREGATES
        )
        said = f"{word_for(node)} with {', '.join(more).replace('_', ' ')}" if is_read else None
        raise unsupported(node, said)


def _bound(node: exp.Expression, bind: Bind) -> Expr:
    kind = type(node)
    check_said(node)
    if kind in BINARY_OPERATORS:
        return binary(node, bind)
    if kind in UNARY:
        return typed(UNARY[kind], (bind(node.this),))
    if kind in FORMS:
        return FORMS[kind](node, bind)
    raise unsupported(node)


def constant(node: exp.Expression, bind: Bind, what: str) -> int:
    """A whole number that is the same for every row."""
    found = bind(node)
    if not isinstance(found, Literal) or not isinstance(found.value, int) or isinstance(found.value, bool):
        raise refused(f"{what} takes a plain whole number.", node, "Write the number itself.")
    return found.value


def unified(columns: Sequence[Sequence[Type]]) -> list[Type | None]:
    """For each position the type that all of these rows fit."""
    return [common_type(list(types)) for types in zip(*columns)]
