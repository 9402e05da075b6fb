"""How functions of columns are called: what a plain string is, and what is left out.

Rule: an argument that is None was not given.
"""

from __future__ import annotations

from ebbflow.expressions import ast as w
from ebbflow.frontend.building.column import Column, lit, named_or, operand

Given = Column | str | object


def of(op: str, *args: Given) -> Column:
    """An operation of the table; a plain string is a column's name."""
    return Column(w.Applied(op, tuple(named_or(arg).tree for arg in args if arg is not None)))


def text(value: Given) -> Column:
    """Where PySpark takes plain text: a unit, a format, what to look for, what to put in."""
    return lit(value) if isinstance(value, str) else Column(operand(value))
