"""Functions that make several rows of one: an element of an array or a map each.

Rule: they stand in a select, one in each.
"""

from __future__ import annotations

from ebbflow.expressions import ast as w
from ebbflow.frontend.building.column import Column, named_or
from ebbflow.frontend.functions.calling import Given


def explode(column: Given) -> Column:
    """A row for each element of an array, or for each entry of a map; in select and with_columns.

    >>> import ebbflow as ebb
    >>> import ebbflow.functions as F
    >>> flow = ebb.Dataflow()
    >>> lines = flow.input("lines", "id long, line string")
    >>> flow.output("words", lines.select("id", word=F.explode(F.split("line", " "))))
    >>> flow.compute(lines=[(1, "to be"), (2, "or")])["words"].rows()
    [(1, 'be', 1), (1, 'to', 1), (2, 'or', 1)]
    """
    return Column(w.Exploded(named_or(column).tree))


def explode_outer(column: Given) -> Column:
    """The same, and a row with null where there is no element.

    >>> explode_outer("xs")
    Column<explode_outer(xs)>
    """
    return Column(w.Exploded(named_or(column).tree, is_outer=True))


def posexplode(column: Given) -> Column:
    """The same with the position, from 0, as a column in front: `.alias("pos", "x")` names both.

    >>> posexplode("xs")
    Column<posexplode(xs)>
    """
    return Column(w.Exploded(named_or(column).tree, has_position=True))


def posexplode_outer(column: Given) -> Column:
    """The same, and a row with nulls where there is no element.

    >>> posexplode_outer("xs")
    Column<posexplode_outer(xs)>
    """
    return Column(w.Exploded(named_or(column).tree, has_position=True, is_outer=True))
