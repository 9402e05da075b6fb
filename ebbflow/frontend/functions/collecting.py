"""Aggregates that collect the values of a group: as an array, or joined to one text.

Rule: the order is that of the columns that are asked for, or of the values, so that equal groups give equal results.
"""

from __future__ import annotations

from ebbflow.frontend.building.column import Column, when
from ebbflow.frontend.functions.calling import Given, collected, of, text


def collect_list(column: Given, order_by: object = None) -> Column:
    """The values of a group as an array, without nulls: in the order of the values, or by `order_by`.

    >>> import ebbflow as ebb
    >>> import ebbflow.functions as F
    >>> flow = ebb.Dataflow()
    >>> sales = flow.input("sales", "shop string, day long, price long")
    >>> prices = F.collect_list("price", order_by="-day")
    >>> flow.output("out", sales.group_by("shop").agg(prices=prices, n=ebb.count()))
    >>> flow.compute(sales=[("a", 1, 10), ("a", 2, 5), ("b", 1, 7)])["out"].rows()
    [('a', [5, 10], 2, 1), ('b', [7], 1, 1)]
    """
    return collected("collect_list", column, order_by)


def collect_set(column: Given, order_by: object = None) -> Column:
    """The different values of a group as an array, without null: in the order of the values, or by `order_by`.

    >>> collect_set("x")
    Column<collect_set(x)>
    """
    return collected("collect_set", column, order_by)


def string_agg(column: Given, delimiter: object = "", order_by: object = None) -> Column:
    """The texts of a group as one, a delimiter between: in the order of the texts, or by `order_by`.

    >>> import ebbflow as ebb
    >>> import ebbflow.functions as F
    >>> flow = ebb.Dataflow()
    >>> words = flow.input("words", "first string, word string")
    >>> flow.output("out", words.group_by("first").agg(all=F.string_agg("word", ", ")))
    >>> flow.compute(words=[("a", "ant"), ("b", "bee"), ("a", "ape")])["out"].rows()
    [('a', 'ant, ape', 1), ('b', 'bee', 1)]
    """
    return _put_together(collected("collect_list", column, order_by), delimiter)


def string_agg_distinct(column: Given, delimiter: object = "") -> Column:
    """The different texts of a group as one, in their order.

    >>> string_agg_distinct("word", ",").output_name is None
    True
    """
    return _put_together(collected("collect_set", column, None), delimiter)


def _put_together(values: Column, delimiter: object) -> Column:
    found = of("array_join", values, text("" if delimiter is None else delimiter))
    return when(of("size", values) > 0, found)


array_agg = collect_list
listagg = string_agg
listagg_distinct = string_agg_distinct
