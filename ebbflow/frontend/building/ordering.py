"""Order, which only exists where rows are cut off.

A collection has no order, so sorting one would promise what no result can keep.  `order_by(...).limit(n)` is a
question that has an answer: the first n rows.

Rule: nothing but `limit` follows `order_by`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

from ebbflow.dataflow.graph import Graph
from ebbflow.errors import NoOrder
from ebbflow.expressions.typed import Expr
from ebbflow.frontend.building.lineage import called
from ebbflow.frontend.building.ordering_keys import first

Made = TypeVar("Made")


class Ordered(Generic[Made]):
    """What `order_by` gives: it can only be cut."""

    def __init__(self, graph: Graph, node: int, order: list[tuple[Expr, bool]], made: Callable[[int], Made]):
        if not order:
            raise NoOrder(
                "order_by has nothing to order by.", hint='For example order_by("-x").limit(10), the largest x first.'
            )
        self._graph, self._node, self._order, self._made = graph, node, order, made

    def limit(self, n: int) -> Made:
        """The first n rows; copies count, and ties go by the whole row.

        >>> import ebbflow as ebb
        >>> flow = ebb.Dataflow()
        >>> flow.output("least", flow.input("xs", "x long").order_by("x").limit(2))
        >>> flow.compute(xs=[(7,), (5,), (5,)])["least"].rows()
        [(5, 2)]
        """
        return self._made(first(self._graph, self._node, [], n, self._order, "limit"))

    head = limit

    if not TYPE_CHECKING:  # a type checker knows the methods there are

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            raise only_limit(f'"{name}" after order_by')

    def __iter__(self) -> NoReturn:
        raise only_limit("a loop over what order_by gives")

    def __repr__(self) -> str:
        return f"Ordered({called(self._graph, self._node)}): say .limit(n)"


def only_limit(what: str) -> NoOrder:
    return NoOrder(
        f"{what} has no meaning: a collection has no order.",
        hint="order_by(...).limit(n) gives the first rows; a Table can be sorted: to_pandas().sort_values(...).",
    )
