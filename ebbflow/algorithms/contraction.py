"""Contraction: a graph made small by taking neighbours together, level by level, and its components told back.

At each level every id goes into the least of itself and its neighbours, in an order drawn anew (see naming), and edges
between different ones go up a level.  Half of the ids of a chain are left after a level, a quarter after two; no
graph keeps more than three quarters of them on the average.  So a chain of a million ids takes some twenty levels where
names that travel along it take a million rounds, and what a change alters at a level is what lies beside it there.

Two loops: up through the levels goes what is taken together, with the least id in it; down again goes the least id
of the whole.  A level is a column, so that the rows of a level stand where they are while the next is made.

Rule: two ids have one name at the end just when edges connect them; and the name they are told comes to each level in
the level's own round, whichever way it came, so that a way that changes and a name that does not are no work below.
"""

from __future__ import annotations

from ebbflow.algorithms.naming import rank_at
from ebbflow.frontend.building.collection import Collection, iterate_together
from ebbflow.frontend.building.column import col, lit
from ebbflow.functions import greatest, least

TOP = 256  # rounds before the ids of the lowest level are told; where levels are more it costs more, and is as right


def contracted(edges: Collection, least_ids: Collection) -> Collection:
    """The least id of each component: id, least.

    needs:  edges: src < dst, each once; least_ids: for every id of theirs, and maybe more, `least`, the least id of
            what it stands for.
    leaves: a row for each of the ids, with the least of all in its component.
    """
    ground = edges.select("src", "dst", level=lit(0).cast("long"))
    below = least_ids.select("id", "least", level=lit(0).cast("long"))
    nowhere = below.select("level", "id", into="id").filter(lit(False))

    def up(graph: Collection, parts: Collection, goes: Collection) -> tuple[Collection, ...]:
        into = _into(graph)
        half = graph.join(into, on={"level": "level", "src": "id"}).select("level", "dst", src="into")
        ends = half.join(into, on={"level": "level", "dst": "id"}).select("level", "src", dst="into")
        left = ends.filter(col("src") != col("dst"))
        higher = left.select(level=col("level") + 1, src=least("src", "dst"), dst=greatest("src", "dst")).distinct()
        taken = parts.join(into, on=["level", "id"]).select("least", level=col("level") + 1, id="into")
        return ground.union(higher), below.union(taken.group_by("level", "id").min("least")), into

    _, parts, goes = iterate_together(up, graph=ground, parts=below, goes=nowhere)
    whole = parts.antijoin(goes, on=["level", "id"])
    steps = goes.select("level", "id", "into", above=col("level") + 1)

    def down(told: Collection) -> Collection:
        on = {"level": "above", "id": "into"}
        handed = told.join(steps.wait(lit(TOP) - col("level")), on=on, suffix="_below")
        lower = handed.select("least", level="level_below", id="id_below")
        return lower.union(whole.wait(lit(TOP) - col("level")))

    told = whole.filter(lit(False)).iterate(down)
    return told.filter(col("level") == 0).select("id", "least")


def _into(graph: Collection) -> Collection:
    """Where each id of each level goes: to the least of itself and its neighbours, in the level's order."""
    there, back = graph.select("level", id="src", into="dst"), graph.select("level", id="dst", into="src")
    stay = [graph.select("level", id=end, into=end) for end in ("src", "dst")]
    near = there.union(back, *stay)
    ranked = near.select("level", "id", "into", rank=rank_at(near, "into", "level"))
    return ranked.group_by("level", "id").top(1, order_by=["rank", "into"]).select("level", "id", "into")
