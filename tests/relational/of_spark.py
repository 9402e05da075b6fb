"""A question asked of a DataFrame that is kept and of Spark itself, which starts over, on the same changing rows.

Rule: at each time the two are the same bag of rows, of the same types; only digits that a decimal here has not may
differ, and the last digits of doubles.
"""

from __future__ import annotations

import math
from decimal import Decimal

import ebbflow as ebb


def is_plain(value):
    return isinstance(value, float | Decimal)


def ordered(rows):
    """Rows in an order that does not depend on the last digits of a number."""
    by = lambda row: ([repr(v) for v in row if not is_plain(v)], [float(v) for v in row if is_plain(v)])
    return sorted(map(tuple, rows), key=by)


def are_alike(mine, theirs):
    if is_plain(mine) and is_plain(theirs):
        return math.isclose(mine, theirs, rel_tol=1e-8, abs_tol=1e-8)
    return mine == theirs and type(mine) is type(theirs)


def compare(found, asked, time=0):
    """The rows of a snapshot and those of a DataFrame, or that it had: how many there are."""
    mine = ordered(row for *row, count in found for _ in range(count))
    theirs = ordered(asked if isinstance(asked, list) else asked.collect())
    assert len(mine) == len(theirs), (time, mine[:3], theirs[:3])
    for one, two in zip(mine, theirs, strict=True):
        assert all(map(are_alike, one, two)), (time, one, two)
    return len(theirs)


def program(df, **more):
    flow = ebb.Dataflow(**more)
    flow.output("answer", flow.dataframe(df))
    return flow


def now(df, **more):
    """What a kept DataFrame has before anything changes."""
    return program(df, **more).compute()["answer"]
