"""What a changed row costs: for each input of a query, the most that one of its changes is compared with.

Rule: a cost is of one row that comes or goes, beside the changes of the result itself, which have to be made anyway.
"""

from __future__ import annotations

from ebbflow.relational import algebra as a
from ebbflow.relational.algebra import Relation
from ebbflow.relational.bounds import bounded
from ebbflow.relational.conditions import keys_of
from ebbflow.relational.traversal import has_at_most_one_row, sources_of

CONSTANT, OF_GROUP, JOINED, MOVED_OVER, SIDE, OF_ROUNDS, EVERYTHING = range(7)
SAID = {
    CONSTANT: "the same, however many rows there are",
    OF_GROUP: "the rows of its group",
    JOINED: "the rows that it joins",
    MOVED_OVER: "the rows between the old and the new value of one that it may change, with which they are compared",
    SIDE: "every row of the other side of a join, which has no equal keys",
    OF_ROUNDS: "the rows that follow from it in a loop",
    EVERYTHING: "every row: one value, which it may change, is compared with all of them",
}


def costs_of(relation: Relation) -> dict[int, int]:
    """For each node of the program that the relation reads, by its number: the most that a change of it costs."""
    found: dict[int, int] = {}

    def note(number: int, cost: int) -> None:
        found[number] = max(found.get(number, CONSTANT), cost)

    def walk(relation: Relation, above: int) -> None:
        match relation:
            case a.Given(number):
                note(number, above)
            case a.Project() if (found := bounded(relation)) is not None:
                walk(found.rows, above)
                for bound in found.bounds:
                    walk(bound.other, max(above, MOVED_OVER))
            case a.Join(left, right, kind, condition):
                keys, rest = keys_of(condition, len(left.types))
                cost = JOINED if keys else SIDE
                one = CONSTANT if has_at_most_one_row(right) else cost
                two = EVERYTHING if has_at_most_one_row(right) and not keys else cost
                walk(left, max(above, CONSTANT if kind == "semi" and not rest and keys else one))
                walk(right, max(above, two))
            case a.Single(source) | a.Window(source):
                walk(source, max(above, OF_GROUP))
            case a.Loop(_, start, step):
                walk(start, max(above, OF_ROUNDS))
                walk(step, max(above, OF_ROUNDS))
            case _:
                for source in sources_of(relation):
                    walk(source, above)

    walk(relation, CONSTANT)
    return found
