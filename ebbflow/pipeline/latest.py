"""Rows replaced by key, as part of the program: of a key's edits the latest counts.

An input whose rows are replaced becomes an input of edits, and a reduction that keeps the last one of each key.  So
the rows of every key live where all state lives, and a step is committed with them or not at all.  An edit that another
has outdone is shown to the stream, which takes it away with its next delivery: state is one row a key.

Rule: taking an outdone edit away changes no result, at any time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow
import pyarrow.compute as pc

from ebbflow.columns.schema import Schema
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph, renumbered
from ebbflow.errors import users_place
from ebbflow.frontend.building.collection import Collection
from ebbflow.frontend.building.column import col
from ebbflow.frontend.building.dataflow import Dataflow
from ebbflow.pipeline.shaping import DELETED, Shaped


def outdone(name: str) -> str:
    """The output that shows the edits of an input that no longer count."""
    return f"{name} outdone"


def with_edits(flow: Dataflow, shapes: Mapping[str, Shaped]) -> Dataflow:
    """The same program over edits, for the inputs whose rows are replaced by key."""
    old, graph = flow.graph, Graph(flow.graph.coordinates)
    graph.timezone, graph.loops = old.timezone, list(old.loops)
    moved: dict[int, int] = {}
    shown: list[tuple[str, int]] = []
    for number, node in enumerate(old.nodes):
        if isinstance(node, n.Input) and node.name in shapes and shapes[node.name].key:
            edits, rows, rest = _latest(graph, node, shapes[node.name])
            moved[number] = rows
            graph.names[edits] = graph.names[rows] = node.name
            shown.append((outdone(node.name), rest))
        else:
            moved[number] = graph.add(renumbered(node, moved), old.places[number])
    graph.names |= {moved[i]: name for i, name in old.names.items()}
    graph.next_of = {moved[i]: moved[j] for i, j in old.next_of.items()}
    for name, source in shown:
        graph.add(n.Output(name, source), users_place())
    program = Dataflow(flow.graph.coordinates)
    program.graph = graph
    program._leaves = {name: leaf for name, leaf in flow._leaves.items() if name not in shapes}
    return program


def _latest(graph: Graph, node: n.Input, shape: Shaped) -> tuple[int, int, int]:
    """The input of edits, the rows that stand, and the edits that were outdone."""
    edits = graph.add(n.Input(node.name, shape.schema), users_place())
    given = Collection(graph, edits)
    order = [*(f"-{name}" for name in shape.order), DELETED]  # of equals, the one that gives a row
    last = given.group_by(*shape.key).top(1, order_by=order).select(*shape.schema.names)
    rows = last.filter(~col(DELETED)).select(*node.schema.names)
    return edits, rows._node, (given - last)._node


@dataclass(frozen=True)
class Outdone:
    """The edits of an input that are outdone, and those of them that were taken away at a time that is still open.

    rows: the edits' columns, `_time` (null: it is outdone; a time: it was taken away there) and `_diff`.
    """

    rows: pyarrow.Table

    @staticmethod
    def none(schema: Schema) -> Outdone:
        return Outdone(pyarrow.table({}))

    @staticmethod
    def read(written: bytes) -> Outdone:
        with pyarrow.ipc.open_stream(written) as reader:
            return Outdone(reader.read_all())

    def written(self) -> bytes:
        sink = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(sink, self.rows.schema) as writer:
            writer.write_table(self.rows)
        return bytes(sink.getvalue().to_pybytes())

    def to_take(self) -> pyarrow.Table:
        """What the next delivery takes away: diffs below zero."""
        if not len(self.rows):
            return self.rows
        taken = pc.is_valid(self.rows["_time"])
        signs = pc.if_else(taken, self.rows["_diff"], pc.negate(self.rows["_diff"]))
        return _summed(self.rows.drop_columns(["_time", "_diff"]).append_column("_diff", signs))

    def after(self, shown: pyarrow.Table, at: int, frontier: Sequence[tuple[int, ...]]) -> Outdone:
        """After a step that took away at a time, and showed these changes of what is outdone, up to a frontier."""
        parts = []
        if len(self.rows):
            now = self.to_take()
            now = now.append_column("_time", pyarrow.array([at] * len(now), pyarrow.int64()))
            now = now.set_column(now.column_names.index("_diff"), "_diff", pc.negate(now["_diff"]))
            parts = [self.rows, now.select(self.rows.column_names)]
        names = [name for name in shown.column_names if name not in ("_time", "_diff")]
        news = shown.select(names).append_column("_time", pyarrow.nulls(len(shown), pyarrow.int64()))
        parts.append(news.append_column("_diff", shown["_diff"]).select([*names, "_time", "_diff"]))
        types = parts[-1].schema  # an earlier version wrote instants without a zone
        whole = _summed(pyarrow.concat_tables([part.select(types.names).cast(types) for part in parts]))
        open_ = frontier[0][0] if frontier else 2**63 - 1
        is_open = pc.greater_equal(whole["_time"], open_)
        return Outdone(whole.filter(pc.or_(pc.is_null(whole["_time"]), pc.fill_null(is_open, False))))


def _summed(rows: pyarrow.Table) -> pyarrow.Table:
    names = [name for name in rows.column_names if name != "_diff"]
    found = rows.group_by(names).aggregate([("_diff", "sum")])
    found = found.rename_columns([*names, "_diff"]) if found.column_names[-1] == "_diff_sum" else found
    return found.filter(pc.not_equal(found["_diff"], 0))
