"""Lengths of time that are written out: `interval 3 days`, `interval n hours`, `interval '1 month 2 days 03:00:00'`.

Rule: each is a list of amounts with their units, in the order in which they are written; an amount may be computed.
"""

from __future__ import annotations

import re

from sqlglot import exp

from ebbflow.columns.schema import LONG
from ebbflow.expressions.calendar_functions import MICROS, unit_of
from ebbflow.expressions.operations import VOID
from ebbflow.expressions.typed import Expr, Literal
from ebbflow.relational.functions import Bind
from ebbflow.relational.refusals import refused, unsupported

PART_OF_INTERVAL = re.compile(r"\s*([+-]?\d+)\s*([a-z]+)|\s*([+-]?)(\d+):(\d\d)(?::(\d\d))?(?![\d:])", re.IGNORECASE)


def interval_parts(node: exp.Expression, bind: Bind) -> list[tuple[Expr, str]]:
    """How much of which units: interval 3 days, interval n hours, interval '1 month 2 days 03:00:00'."""
    if node.args.get("unit") is not None or not isinstance(node.this, exp.Literal) or not node.this.is_string:
        return [interval(node, bind)]
    found: list[tuple[Expr, str]] = []
    text, at = node.name.strip(), 0
    while at < len(text):
        part = PART_OF_INTERVAL.match(text, at)
        if part is None or (part[2] and unit_of(part[2]) is None):
            raise refused(f'"{node.name}" is no length of time', node, "For example interval '1 day 2 hours'.")
        if part[2]:
            found.append((Literal(int(part[1]), LONG), unit_of(part[2]) or ""))
        else:
            seconds = int(part[4]) * 3600 + int(part[5]) * 60 + int(part[6] or 0)
            found.append((Literal(-seconds if part[3] == "-" else seconds, LONG), "second"))
        at = part.end()
    return found


def interval(node: exp.Expression, bind: Bind) -> tuple[Expr, str]:
    """How much, and of which unit: interval 3 days, interval '3' day, interval n hours."""
    unit = node.args.get("unit")
    amount = bind(node.this)
    if isinstance(unit, exp.Var) and unit_of(unit.name) is not None:
        if isinstance(amount, Literal) and isinstance(amount.value, str):
            return Literal(_whole(amount.value, node), LONG), unit_of(unit.name) or ""
        if amount.type.is_integer or amount.type == VOID:
            return amount, unit_of(unit.name) or ""
    if isinstance(unit, exp.IntervalSpan) and isinstance(amount, Literal):
        return _span(str(amount.value), unit, node)
    raise unsupported(node, "an interval of this kind")


def _whole(text: str, node: exp.Expression) -> int:
    try:
        return int(text)
    except ValueError:
        raise unsupported(node, "an interval whose length is not a whole number") from None


def _span(text: str, unit: exp.Expression, node: exp.Expression) -> tuple[Expr, str]:
    """interval '1-2' year to month, interval '1 02:03:04' day to second."""
    first, last = unit_of(unit.this.name), unit_of(unit.expression.name)
    sign, text = (-1, text.strip()[1:]) if text.strip().startswith("-") else (1, text.strip().lstrip("+"))
    if (first, last) == ("year", "month"):
        years, _, months = text.partition("-")
        return Literal(sign * (_whole(years, node) * 12 + _whole(months, node)), LONG), "month"
    names = ["day", "hour", "minute", "second"]
    if first not in names or last not in names:
        raise unsupported(node, "an interval of these units")
    used = names[names.index(first) : names.index(last) + 1]
    parts = text.replace(" ", ":", 1).split(":") if first == "day" else text.split(":")
    if len(parts) != len(used):
        raise unsupported(node, f"an interval written as '{text}'")
    total = 0
    for name, part in zip(used, parts):
        whole, _, fraction = part.partition(".")
        total += _whole(whole, node) * MICROS[name] + int(fraction.ljust(6, "0")[:6] or 0)
    return Literal(sign * total, LONG), "microsecond"
