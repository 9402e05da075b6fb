"""Names in an order of their own: ids compared by a number that looks drawn at random.

Whoever keeps the least name it has heard changes its mind seldom if names come in no order.  Ids of a database come in
one: along a chain whose ids rise, each id would hear a lesser one in every round.  So names are compared by their rank,
a hash of the id, and by the id itself only where two have one hash.

Rule: a rank depends on nothing but the id (and a number that is given with it), so that a name that goes leaves as it
came, and two ids are never taken for one.
"""

from __future__ import annotations

from ebbflow.expressions import ast as w
from ebbflow.frontend.building.collection import Collection
from ebbflow.frontend.building.column import Column, col, lit
from ebbflow.functions import floor, log2, sqrt, when

LAST_TURN = 64  # four times the logarithm of the fourth root of the largest number, and one more
BETWEEN = 4  # rounds, in which a name comes some way before twice as many set out


def mixed(column: Column) -> Column:
    """A long that looks random; equal values have equal ones."""
    return Column(w.Applied("mix", (column.tree,)))


def rank_of(ids: Collection, name: str) -> Column:
    """The rank of the id in a column."""
    kind = ids.schema[name]
    return mixed(col(name) if kind.is_integer or kind.is_text else col(name).cast("string"))


def rank_at(ids: Collection, name: str, level: str) -> Column:
    """The rank of the id at a level, whose number is in another column: at each level there is another order."""
    return mixed(rank_of(ids, name) // 4 + col(level))


def least_heard(edges: Collection, ids: Collection, max_rounds: int | None = None) -> Collection:
    """The name of least rank among `ids` that leads to each id along `edges`: id, name.

    Bounded by `max_rounds` it is the least that has arrived by then, and a name in reach of the id all the same.
    """
    own = ids.select("id", rank=rank_of(ids, "id"), name="id")

    def heard(names: Collection) -> Collection:
        told = names.join(edges, on={"id": "src"}).select(id="dst", rank="rank", name="name")
        return told.union(own.wait(turn(own))).group_by("id").top(1, order_by=["rank", "name"])

    return own.filter(lit(False)).iterate(heard, max_rounds).select("id", "name")


def turn(names: Collection) -> Column:
    """The round in which a name sets out: those of least rank first, twice as many each time.

    When the many come, most ids have heard a lesser name and hand none of them on.  Root and floor are exact on every
    machine, and a logarithm of so small a whole number is never close to another answer.
    """
    above_least = names.rank + (2**63 - 1)
    size = floor(log2(floor(sqrt(sqrt(above_least))) + 1) * 4)
    return when(names.rank < 0, size).otherwise(lit(LAST_TURN)) * BETWEEN
