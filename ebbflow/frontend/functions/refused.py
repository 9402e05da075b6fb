"""Functions that PySpark has and a result that stays right cannot have; each says what to write.

Rule: each refuses, with what to write in its place.
"""

from __future__ import annotations

from ebbflow.errors import NotAnExpression
from ebbflow.frontend.building.column import Column


def current_timestamp() -> Column:
    """What would change by itself: this says so.

    >>> current_timestamp()
    Traceback (most recent call last):
        ...
    ebbflow.errors.NotAnExpression: a result that depends on when it is computed would not stay right...
    """
    raise NotAnExpression(
        "a result that depends on when it is computed would not stay right.",
        hint="Give the time as data: a column, or the time of a change. datetime.now() in a program is read once.",
    )


current_date = current_timestamp


def expr(text: str) -> Column:
    """SQL in a string: this says what to write.

    >>> expr("x + 1")
    Traceback (most recent call last):
        ...
    ebbflow.errors.NotAnExpression: expr('x + 1') is SQL in a string...
    """
    raise NotAnExpression(
        f"expr({text!r}) is SQL in a string.",
        hint='Write it with columns: col("x") + 1; whole queries are flow.sql(...).',
    )
